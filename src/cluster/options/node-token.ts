/**
 * The token of `wherry node`: the token itself, `-` for standard input, or a file. Other users of the machine see the
 * arguments of a process, so one that is given there is taken out of what they see, as far as the system allows.
 */
import { readFileSync } from 'node:fs';
import type { Value } from './option.ts';

/** Bootstrap tokens have 23 characters, others a few thousand. */
const tokenCharsMax = 65_536;
const standardInput = 0;
const bootstrapForm = /^[a-z0-9]{6}\.[a-z0-9]{16}$/;

/** The value of `--token`. */
export const nodeToken: Value<string> = {
  shown: 'TOKEN',
  form: 'text',
  read([given = ''], _flag, refuse) {
    try {
      return readNodeToken(given);
    } catch (error) {
      return refuse((error as Error).message);
    }
  },
};

export function readNodeToken(given: string): string {
  if (given === '-') return checked(readText(standardInput, 'standard input'), 'standard input');
  if (bootstrapForm.test(given)) {
    hideArguments();
    return given;
  }
  if (!/[/\\]/.test(given))
    throw new Error(`--token must be a token, - or a path such as ./token, not ${JSON.stringify(given)}`);
  return checked(readText(given, given), given);
}

function readText(from: string | number, name: string): string {
  try {
    return readFileSync(from, 'utf8').trim();
  } catch (error) {
    throw new Error(`the token cannot be read from ${name}: ${(error as Error).message}`);
  }
}

function checked(token: string, from: string): string {
  if (token === '' || token.length > tokenCharsMax || /\s/.test(token))
    throw new Error(`${from} holds no token`);
  return token;
}

/** Setting the title overwrites the arguments in the memory that the system shows to others. */
function hideArguments(): void {
  process.title = 'wherry node';
}
