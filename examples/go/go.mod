module wherry.dev/examples/go

go 1.19
