module example.com/wherrytest

go 1.19
