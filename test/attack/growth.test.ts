/**
 * Proves that no request takes a time that grows faster than its length: every list that a client may send is sent at two
 * lengths, and four times the length may cost at most six times as much. `npm test` tries an eighth of the lengths first.
 */
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { command } from '../support/child.ts';
import { isRelease } from '../support/tier.ts';
import { AttackedServer } from './attacked-server.ts';
import { type Growth, growthOf, type Send } from './growth.ts';
import { inputs } from './inputs.ts';

const isLong = process.env.WHERRY_ATTACK === 'long';

/** The system tells how long a thread was on a processor; others than Linux do not, and time alone proves nothing. */
const canMeasure = existsSync('/proc/self/schedstat') && existsSync(command);

/** A large space for new objects: with a small one, what a long request makes is copied several times. */
const roomy = ['--max-semi-space-size=256', '--min-semi-space-size=128'];

let server: AttackedServer | undefined;
beforeAll(async () => {
  if (canMeasure) server = await AttackedServer.start(['--controllers', 'none'], roomy);
});
afterAll(() => server?.close());

const textOf = ({ name, n, least, ratio, codes }: Growth): string =>
  `${name}: ${least[0].toFixed(1)} ms at ${n}, ${least[1].toFixed(1)} ms at ${4 * n}, ×${ratio.toFixed(1)}, ${codes.join(' ')}`;

/** A busy machine may spoil a measurement; a cost that is quadratic is so every time. */
const tries = { retry: 3 };

describe.runIf(canMeasure)('the cost of a request', tries, () => {
  it.each(inputs.map((input) => [input.name, input] as const))('grows with %s', async (_name, input) => {
    const send: Send = ({ path, ...sent }) => server!.askLocally(path, sent);
    const growth = await growthOf(input, server!.pid, send, isLong || isRelease);
    if (isLong) process.stdout.write(`${textOf(growth)}\n`);
    expect(growth.isTooGreat, textOf(growth)).toBe(false);
    expect(growth.codes.includes(0), textOf(growth)).toBe(false);
    expect(
      growth.codes.some((code) => code >= 500),
      textOf(growth),
    ).toBe(false);
  });
});
