/**
 * Proves that no attack gets in, and that a neighbour is served meanwhile. `npm test` runs the short form; `npm run
 * attack` the long one, and prints what each did and what the neighbour felt.
 */
import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { command } from '../support/child.ts';
import type { Attack } from './attack.ts';
import { AttackedServer } from './attacked-server.ts';
import { Neighbour } from './neighbour.ts';

const isShort = process.env.WHERRY_ATTACK !== 'long';
/** How long the neighbour works alone first, for comparison. */
const aloneMs = 3_000;

const attacks = Object.values(
  (import.meta as unknown as { glob: Glob }).glob<{ attack: Attack }>('./attacks/*.ts', { eager: true }),
).map(({ attack }) => attack);

type Glob = <T>(pattern: string, options: { eager: true }) => Record<string, T>;

async function alone(server: AttackedServer): Promise<number> {
  const neighbour = new Neighbour(server);
  await new Promise((resolve) => setTimeout(resolve, aloneMs));
  return (await neighbour.stop()).p99Ms;
}

describe.runIf(existsSync(command))('under attack', () => {
  it.each(attacks.map((attack) => [attack.name, attack] as const))('%s', async (name, attack) => {
    const server = await AttackedServer.start(attack.options, attack.flags);
    try {
      const beforeMs = isShort ? undefined : await alone(server);
      const neighbour = new Neighbour(server);
      const cpuMs = server.cpuMs;
      const { gotIn, says } = await attack.run(server, isShort);
      const felt = await neighbour.stop();
      if (beforeMs !== undefined)
        process.stdout.write(
          `${name}: ${says}; ${Math.round(server.cpuMs - cpuMs)} ms of CPU; got in: ${gotIn.join('; ') || 'nothing'}; ` +
            `neighbour: ${felt.requests} requests, p99 ${felt.p99Ms.toFixed(1)} ms (alone ${beforeMs.toFixed(1)})\n`,
        );
      expect(gotIn).toEqual([]);
      expect(felt.failures).toEqual([]);
      expect(server.isAlive).toBe(true);
    } finally {
      await server.close();
    }
  });
});
