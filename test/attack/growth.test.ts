/**
 * Proves that no request takes a time that grows faster than its length: every list that a client may send is sent at two
 * lengths, and four times the length may cost at most six times as much. `npm test` tries an eighth of the lengths first.
 * For some the work counts that controllers and a node do after the answer.
 */
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { command } from '../support/child.ts';
import { isRelease } from '../support/tier.ts';
import { AttackedServer } from './attacked-server.ts';
import { type Growth, growthOf, idle, type Send } from './growth.ts';
import { followed } from './inputs/followed.ts';
import type { ListInput } from './inputs/shapes.ts';
import { inputs } from './inputs.ts';

const isLong = process.env.WHERRY_ATTACK === 'long';

/** The system tells how long a thread was on a processor; others than Linux do not, and time alone proves nothing. */
const canMeasure = existsSync('/proc/self/schedstat') && existsSync(command);

/** A large space for new objects: with a small one, what a long request makes is copied several times. */
const roomy = ['--max-semi-space-size=256', '--min-semi-space-size=128'];

const textOf = ({ name, n, least, ratio, codes }: Growth): string =>
  `${name}: ${least[0].toFixed(1)} ms at ${n}, ${least[1].toFixed(1)} ms at ${4 * n}, ×${ratio.toFixed(1)}, ${codes.join(' ')}`;

/** A busy machine may spoil a measurement; a cost that is quadratic is so every time. */
const tries = { retry: 3 };

const suites: readonly [what: string, options: readonly string[], inputs: readonly ListInput[]][] = [
  ['a request', ['--controllers', 'none'], inputs],
  ['a request, and of what follows,', ['up', '--simulated-nodes', '1'], followed],
];
/** The second takes many seconds, because the server has to come to rest after each input. */
const tried = suites.slice(0, isLong || isRelease ? 2 : 1);

describe.runIf(canMeasure).each(tried)('the cost of %s', tries, (_what, options, list) => {
  let server: AttackedServer | undefined;
  beforeAll(async () => {
    server = await AttackedServer.start(options, roomy);
  });
  afterAll(() => server?.close());

  it.each(list.map((input) => [input.name, input] as const))('grows with %s', async (_name, input) => {
    const { pid } = server!;
    const send: Send = ({ path, ...sent }) => server!.askLocally(path, sent);
    const settle = list === followed ? () => idle(pid) : undefined;
    const growth = await growthOf(input, pid, send, isLong || isRelease, settle);
    if (isLong) process.stdout.write(`${textOf(growth)}\n`);
    expect(growth.isTooGreat, textOf(growth)).toBe(false);
    expect(growth.codes.includes(0), textOf(growth)).toBe(false);
    expect(
      growth.codes.some((code) => code >= 500),
      textOf(growth),
    ).toBe(false);
  });
});
