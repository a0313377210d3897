/**
 * A certificate of its own and its key, RSA with 1,024 bits: the public exponent is as long as the modulus, which makes it
 * costly to check what it has signed. OpenSSL makes no such keys.
 */
export const costlyCertificate: string = `-----BEGIN CERTIFICATE-----
MIICGTCCAYKgAwIBAgIBATANBgkqhkiG9w0BAQsFADASMRAwDgYDVQQDDAdjb3N0
bHkwMB4XDTI1MDEwMTAwMDAwMFoXDTQ5MTIzMTIzNTk1OVowEjEQMA4GA1UEAwwH
Y29zdGx5MDCCAR8wDQYJKoZIhvcNAQEBBQADggEMADCCAQcCgYEA0OsthlIMO1Ms
u5kVEI0/bkAA2BbgXl1NhJ4irJtltXY4PhxblmK5BPaxkZk+CM+yd+SE14CyjRsF
EZXZLa5Mo+Js+HqQalZHtLUZJInyRvA4Rpmp2vhZjTeXnbFw4IGYIOKuwwmD3osD
fq9pkTgDMRbbxrbncHGqh1IL09akPesCgYBeFAmEGx52+JWERQM/WNvfgeLfbC3N
UKa/uZZTtAaxGHNrRMnZhstaeNytfBx7S0xKwRUxFjtRX4GA0cHi2EKaGXMPzcNG
qNIbzD9J7n6vaLehp9iko/nsngxSnFFkeLNyOUYGDTqFbHrpwkgVWLpayxFKB6eD
/PJvxSskZQQUgTANBgkqhkiG9w0BAQsFAAOBgQBpmrmLXeu5g5srcTdVRvSx7u6L
Svo+ia1PlpoT39raPBLXr577ICR79cO22vj1s/mv0VZtUV3DbC+qf4VF5S5/DT9W
SxXHWJI8Cel/wa3BXQW6xoeUOrGBNIc6Mi0OEreKstpOy5d8Lz06LEHbxvcrwXDE
Z780+jP/vkjCVZsWFg==
-----END CERTIFICATE-----
`;
export const costlyCertificateKey: string = `-----BEGIN PRIVATE KEY-----
MIIB/AIBADANBgkqhkiG9w0BAQEFAASCAeYwggHiAgEAAoGBANDrLYZSDDtTLLuZ
FRCNP25AANgW4F5dTYSeIqybZbV2OD4cW5ZiuQT2sZGZPgjPsnfkhNeAso0bBRGV
2S2uTKPibPh6kGpWR7S1GSSJ8kbwOEaZqdr4WY03l52xcOCBmCDirsMJg96LA36v
aZE4AzEW28a253BxqodSC9PWpD3rAoGAXhQJhBsedviVhEUDP1jb34Hi32wtzVCm
v7mWU7QGsRhza0TJ2YbLWnjcrXwce0tMSsEVMRY7UV+BgNHB4thCmhlzD83DRqjS
G8w/Se5+r2i3oafYpKP57J4MUpxRZHizcjlGBg06hWx66cJIFVi6WssRSgeng/zy
b8UrJGUEFIECAwEAAQJBANg5exWQ9N58OWLBJ1IzT5FSxGuEbU52xtneRJYS7G52
wku4qDsssax4tyHB0Hfaz1vsl7LHJucsBKi74C8Vx8kCQQD3WaV/evHKBZhX3lrI
ONfNCRZ7pBsK+4s9yz8T+fKZaU6oPRonOy+VmsF4iwbDfcbuY+6b4XPnJp1hz0dp
3BoTAgMBAAECAwEAAQJBAKfi8Z6NP5Fwf1BWYdzQyKhqhVKJCG33N8mNvOpgteya
gy+2gDF8aUb1dXVlT7rlaBu9kPObOhptJnJ5hDHp+2c=
-----END PRIVATE KEY-----
`;

/** A certificate with a key of a type that does not exist: OpenSSL reads the certificate, and not its key. */
export const unreadableCertificate: string = `-----BEGIN CERTIFICATE-----
MIH8MIGiAgEBMAoGCCqGSM49BAMCMBExDzANBgNVBAMMBnVucmVhZDAeFw0yNTAx
MDEwMDAwMDBaFw00OTAxMDEwMDAwMDBaMBExDzANBgNVBAMMBnVucmVhZDBLMAYG
BCoDBAUDQQAHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH
BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHMAoGCCqGSM49BAMCA0kAMEYCIQD2BtAI
z8KRi7AMbVUU8e0mtjvSrBLljzB0eDjgVm5euQIhAO+zt65+Pubx4aYAuMmSm9Je
/BuLuCHcITxZae75EhQT
-----END CERTIFICATE-----
`;

/** A certificate that ends in the thirteenth month. */
export const timelessCertificate: string = `-----BEGIN CERTIFICATE-----
MIIBAzCBqgIBATAKBggqhkjOPQQDAjAOMQwwCgYDVQQDDANiYWQwHhcNMjUwMTAx
MDAwMDAwWhcNOTkxMzk5OTk5OTk5WjAOMQwwCgYDVQQDDANiYWQwWTATBgcqhkjO
PQIBBggqhkjOPQMBBwNCAAQZn8KvZEXkHwYUmmodxNav8voI4jsC+LxgKYlVaP5m
pDpJ0RYoFoz0TDqBB/Ra6Ag6c3W1Pi3KUctWlKeeUgSbMAoGCCqGSM49BAMCA0gA
MEUCICO9YkKV/9bypgOY62COCfmnlPJ/q4BkSAopsR2sKqfiAiEAzPVjGPFJjYPy
fEN4FIqiQD49W4sqqaChLFT7snonIis=
-----END CERTIFICATE-----
`;
