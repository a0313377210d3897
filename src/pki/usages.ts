/** Key usages: Kubernetes' names, and their encoding in certificates. */

/** Bits of the key usage extension, from the first. */
const keyUsageBits: Readonly<Record<string, number>> = {
  signing: 0,
  'digital signature': 0,
  'content commitment': 1,
  'key encipherment': 2,
  'data encipherment': 3,
  'key agreement': 4,
  'cert sign': 5,
  'crl sign': 6,
  'encipher only': 7,
  'decipher only': 8,
};

const extendedUsages: Readonly<Record<string, string>> = {
  any: '2.5.29.37.0',
  'server auth': '1.3.6.1.5.5.7.3.1',
  'client auth': '1.3.6.1.5.5.7.3.2',
  'code signing': '1.3.6.1.5.5.7.3.3',
  'email protection': '1.3.6.1.5.5.7.3.4',
  's/mime': '1.3.6.1.5.5.7.3.4',
  'ipsec end system': '1.3.6.1.5.5.7.3.5',
  'ipsec tunnel': '1.3.6.1.5.5.7.3.6',
  'ipsec user': '1.3.6.1.5.5.7.3.7',
  timestamping: '1.3.6.1.5.5.7.3.8',
  'ocsp signing': '1.3.6.1.5.5.7.3.9',
  'microsoft sgc': '1.3.6.1.4.1.311.10.3.3',
  'netscape sgc': '2.16.840.1.113730.4.1',
};

/** The bits and the object identifiers of usages; throws for an unknown usage. */
export function splitUsages(usages: readonly string[]): { bits: number[]; extended: string[] } {
  const bits = new Set<number>();
  const extended = new Set<string>();
  for (const usage of usages) {
    if (Object.hasOwn(keyUsageBits, usage)) bits.add(keyUsageBits[usage]!);
    else if (Object.hasOwn(extendedUsages, usage)) extended.add(extendedUsages[usage]!);
    else throw new Error(`there is no usage ${JSON.stringify(usage)}`);
  }
  return { bits: [...bits], extended: [...extended] };
}
