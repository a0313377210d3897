/** A short digest of a value, to compare definitions: they are large, and there may be thousands. */
import { createHash } from 'node:crypto';
import { jsonText } from '../../api/text/json-text.ts';

export const digestOf = (value: unknown): string =>
  createHash('sha256').update(jsonText(value)).digest('base64');
