/** PEM: binary data as text between two lines that name it. */

export type PemLabel = 'CERTIFICATE' | 'CERTIFICATE REQUEST' | 'PRIVATE KEY';

export function pem(label: PemLabel, bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}

export interface PemBlock {
  readonly label: string;
  readonly bytes: Buffer;
  /** Whether header lines of the form `name: value` precede the data. */
  readonly hasHeaders: boolean;
}

/** A file with more blocks than this is refused. */
const blocksMax = 1_000;

/** All blocks of a text; text between them is skipped, as in Kubernetes. */
export function pemBlocks(text: string): PemBlock[] {
  const blocks: PemBlock[] = [];
  const begin = /^-----BEGIN ([A-Z0-9 ]{1,64})-----[ \t]*\r?$/gm;
  for (let found = begin.exec(text); found; found = begin.exec(text)) {
    const label = found[1]!;
    const end = text.indexOf(`\n-----END ${label}-----`, begin.lastIndex);
    if (end < 0) break;
    const lines = text.slice(begin.lastIndex + 1, end).split('\n');
    begin.lastIndex = end + 1;
    const data = lines.findIndex((line) => !line.includes(':'));
    const body = lines.slice(Math.max(data, 0)).join('\n');
    if (!/^[A-Za-z0-9+/=\s]*$/.test(body)) continue;
    blocks.push({ label, bytes: Buffer.from(body, 'base64'), hasHeaders: data > 0 });
    if (blocks.length > blocksMax) throw new Error(`more than ${blocksMax} PEM blocks`);
  }
  return blocks;
}

/** The certificates in a text, in order. As in Kubernetes, blocks with headers do not count. */
export const certificatesIn = (text: string): Buffer[] =>
  pemBlocks(text)
    .filter(({ label, hasHeaders }) => label === 'CERTIFICATE' && !hasHeaders)
    .map(({ bytes }) => bytes);
