/**
 * The answers of a real server about pods that the policy of their namespace forbids, replayed in order: refusals,
 * warnings, labels of namespaces, pods that are there when a namespace becomes stricter.
 */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Cluster, start } from '../../src/cluster/index.ts';

interface Case {
  readonly name: string;
  readonly seq: string;
  readonly method: string;
  readonly path: string;
  readonly contentType?: string;
  readonly body?: unknown;
  readonly expect: {
    readonly code: number;
    readonly fields?: Readonly<Record<string, unknown>>;
    readonly message?: string;
    readonly reason?: string;
    readonly details?: unknown;
    readonly warnings?: string;
  };
}

const { cases } = JSON.parse(
  readFileSync(new URL('../recorded/access-cases.json', import.meta.url), 'utf8'),
) as { cases: Case[] };

const valueAt = (value: unknown, path: string): unknown =>
  path.split('.').reduce((at, name) => (at as Record<string, unknown> | undefined)?.[name], value) ?? null;

describe('pod security', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await start({ like: 'kubernetes', controllers: false });
  });
  afterAll(() => cluster.close());

  for (const { name, method, path, body, contentType = 'application/json', expect: expected } of cases.filter(
    ({ seq }) => seq === 'pod security',
  ))
    test(name, async () => {
      const response = await fetch(cluster.url + path, {
        method,
        headers: { 'Content-Type': contentType },
        body: JSON.stringify(body),
      });
      const answer = await response.json();
      const { code, fields = {}, warnings, message, reason, details } = expected;
      expect({ code: response.status, warnings: response.headers.get('warning') ?? undefined }).toEqual({
        code,
        warnings,
      });
      for (const [place, value] of Object.entries(fields))
        expect(valueAt(answer, place), place).toEqual(value);
      if (message !== undefined) expect(answer).toMatchObject({ message, reason, details });
    });
});
