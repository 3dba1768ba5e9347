"""Parts of the noise table, one module each: which samples, wrong labels, foreign images, bad clients.

Keys and wrong labels are drawn for each sample of the data set, noisy or not, and looked up where needed. So
a sample's wrong label depends neither on other samples nor on how they are shared out, and raising a rate
only adds noisy samples.
"""
