/** Reads configuration files: small texts; errors are sentences for the operator. */
import { readFile, stat } from 'node:fs';
import { promisify } from 'node:util';

const fileBytesMax = 8 * 1024 * 1024;

/** @param what for the message: `token file` */
export async function readTextFile(file: string, what: string): Promise<string> {
  try {
    const { size } = await promisify(stat)(file);
    if (size > fileBytesMax) throw new Error(`it is larger than ${fileBytesMax} bytes`);
    return await promisify(readFile)(file, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new Error(`the ${what} ${file} cannot be read (${code ?? message})`, { cause: error });
  }
}
