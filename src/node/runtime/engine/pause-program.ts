/**
 * The program of a pod's sandbox container: it sleeps until SIGTERM or SIGINT, and lets the kernel reap orphans of a
 * shared process namespace. Each is a whole executable of some 300 bytes that calls nothing but the kernel, so that no
 * image has to be pulled for a sandbox.
 *
 *   rt_sigaction(SIGCHLD, ignore); rt_sigaction(SIGTERM, exit); rt_sigaction(SIGINT, exit); for (;;) pause();
 *
 * The sources are `pause-amd64.s` and `pause-arm64.s`; `node scripts/pause-program.mjs` assembles them and compares.
 */

/** Programs by Go's name of the architecture. */
const programs: Partial<Record<string, string>> = {
  amd64:
    'f0VMRgIBAQAAAAAAAAAAAAIAPgABAAAAeABAAAAAAABAAAAAAAAAAAAAAAAAAAAAAAAAAEAAOAABAAAAAAAAAAEAAAAFAAAAAAAAAAAAAAAA' +
    'AEAAAAAAAAAAQAAAAAAAGAEAAAAAAAAYAQAAAAAAAAAQAAAAAAAAuA0AAAC/EQAAAL7YAEAAMdJBuggAAAAPBbgNAAAAvw8AAAC++ABAADHS' +
    'QboIAAAADwW4DQAAAL8CAAAAvvgAQAAx0kG6CAAAAA8FuCIAAAAPBev3Mf+4PAAAAA8FkJCQAQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' +
    'AAAAAADMAEAAAAAAAAAAAAQAAAAAzABAAAAAAAAAAAAAAAAAAA==',
  arm64:
    'f0VMRgIBAQAAAAAAAAAAAAIAtwABAAAAeABAAAAAAABAAAAAAAAAAAAAAAAAAAAAAAAAAEAAOAABAAAAAAAAAAEAAAAFAAAAAAAAAAAAAAAA' +
    'AEAAAAAAAAAAQAAAAAAAMAEAAAAAAAAwAQAAAAAAAAAAAQAAAAAAyBCA0iACgNKBAwAQAgCA0gMBgNIBAADUyBCA0uABgNLBAwAQAgCA0gMB' +
    'gNIBAADUyBCA0kAAgNIBAwAQAgCA0gMBgNIBAADUKAmA0gAAgNIBAIDSAgCA0gMAgNIEAYDSAQAA1Pn//xcAAIDSqAuA0gEAANQfIAPVAQAA' +
    'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAADgAEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==',
};

export const pausePath = '/pause';

/** A tar archive with the program, as the root of an image; undefined for an architecture without one. */
export function pauseArchive(architecture: string): Buffer | undefined {
  const text = programs[architecture];
  if (text === undefined) return undefined;
  const program = Buffer.from(text, 'base64');
  const padding = Buffer.alloc((512 - (program.length % 512)) % 512);
  // Two empty blocks end an archive.
  return Buffer.concat([tarHeader(pausePath.slice(1), program.length), program, padding, Buffer.alloc(1024)]);
}

function tarHeader(name: string, bytes: number): Buffer {
  const header = Buffer.alloc(512);
  const octal = (value: number, width: number): string => `${value.toString(8).padStart(width - 1, '0')}\0`;
  header.write(name, 0);
  header.write(octal(0o755, 8), 100);
  header.write(octal(0, 8), 108);
  header.write(octal(0, 8), 116);
  header.write(octal(bytes, 12), 124);
  header.write(octal(0, 12), 136);
  // The checksum is computed with blanks in its own place.
  header.write('        ', 148);
  header.write('0', 156);
  header.write('ustar\u000000', 257, 'latin1');
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}
