/**
 * TLS in PEM: checks that the texts of a certificate and a key have the PEM blocks of a pair, with the messages of
 * Go's TLS package. The content of the blocks is not parsed.
 */

/** Blocks examined in one text; a chain has a handful. */
const blocksMax = 64;
/** Longest name of a block, in characters; `EC PRIVATE KEY` has 14. */
const typeCharsMax = 64;
/** Names of skipped blocks that a message quotes. */
const typesShownMax = 8;

const begin = '-----BEGIN ';
const end = '-----END ';
const dashes = '-----';

/** The error of the pair; undefined when it is fine. */
export function tlsPairProblem(certificate: string, privateKey: string): string | undefined {
  const certificateTypes = blockTypes(certificate);
  if (!certificateTypes.includes('CERTIFICATE')) {
    if (certificateTypes.length === 0) return 'tls: failed to find any PEM data in certificate input';
    if (certificateTypes.length === 1 && certificateTypes[0]!.endsWith('PRIVATE KEY'))
      return 'tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched';
    return `tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following types: ${shown(certificateTypes)}`;
  }
  const keyTypes = blockTypes(privateKey);
  if (keyTypes.some((type) => type === 'PRIVATE KEY' || type.endsWith(' PRIVATE KEY'))) return undefined;
  if (keyTypes.length === 0) return 'tls: failed to find any PEM data in key input';
  if (keyTypes.length === 1 && keyTypes[0] === 'CERTIFICATE')
    return 'tls: found a certificate rather than a key in the PEM for the private key';
  return `tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the following types: ${shown(keyTypes)}`;
}

const shown = (types: readonly string[]): string => `[${types.slice(0, typesShownMax).join(' ')}]`;

/** Names of the PEM blocks in a text. Every part of the text is examined once, so time stays linear. */
function blockTypes(text: string): string[] {
  const types: string[] = [];
  let from = 0;
  for (let to = text.indexOf(end); to >= 0 && types.length < blocksMax; to = text.indexOf(end, from)) {
    const type = blockType(text.slice(from, to));
    if (type !== undefined && text.startsWith(type + dashes, to + end.length)) types.push(type);
    from = to + end.length;
  }
  return types;
}

/** The name of the block that the last BEGIN line opens, when base64 follows to the end of the text. */
function blockType(text: string): string | undefined {
  const at = text.lastIndexOf(begin);
  if (at < 0 || (at > 0 && text[at - 1] !== '\n')) return undefined;
  const typeAt = at + begin.length;
  // Warnings quote the name, so only capitals, digits and spaces are allowed.
  const line = text.slice(typeAt, typeAt + typeCharsMax + dashes.length + 1);
  const type = /^([A-Z0-9 ]+)-----\s/.exec(line)?.[1];
  return type !== undefined && isBase64(text.slice(typeAt + type.length + dashes.length)) ? type : undefined;
}

/** The base64 may follow header lines and an empty line. */
function isBase64(body: string): boolean {
  const blank = body.indexOf('\n\n');
  const base64 = (body.includes(':') && blank >= 0 ? body.slice(blank) : body).replace(/\s/g, '');
  return base64.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(base64);
}
