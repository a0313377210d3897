/** Writes to objects that another writer may have removed before. */
import { StatusError } from '../../api/errors/errors.ts';

/** The result of a write; undefined when the object no longer exists. */
export async function ifExists<T>(write: Promise<T>): Promise<T | undefined> {
  try {
    return await write;
  } catch (error) {
    if (!(error instanceof StatusError && error.code === 404)) throw error;
    return undefined;
  }
}
