/** Files that configure parts of a cluster. They are read once, at start; a sentence says what is wrong with one. */
import { readFile, stat } from 'node:fs/promises';
import { StartError } from '../shared/start-error.ts';

const fileBytesMax = 4 * 1024 * 1024;

/** @param what the file is, for messages: `the audit policy` */
export async function readConfigurationFile<T>(
  file: string,
  what: string,
  read: (text: string) => T | Promise<T>,
): Promise<T> {
  try {
    const { size } = await stat(file);
    if (size > fileBytesMax) throw new Error(`it has more than ${fileBytesMax} bytes`);
    return await read(await readFile(file, 'utf8'));
  } catch (error) {
    if (error instanceof StartError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    throw new StartError(
      `${what} ${file} cannot be used: ${code === 'ENOENT' ? 'there is no such file' : message}`,
      {
        cause: error,
      },
    );
  }
}
