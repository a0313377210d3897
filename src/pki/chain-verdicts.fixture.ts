/** Chains of certificates and what is said of them, for the tests by public vectors. */
import { expect, it } from 'vitest';
import { clientAuth, verifyChain } from './certificate-chain.ts';
import { authority, client, constraints, type Holder, keyUsage, nowMs } from './path-vectors.fixture.ts';

export const expired = 'the certificate has expired';
export const early = 'the certificate is not valid yet';
export const unknown = 'the certificate is signed by an unknown authority';
export const notAuthority = 'the certificate is signed by one that is not an authority';
export const tooMany = 'there are more authorities in the chain than one of them allows';
export const weak = 'the signature of the certificate is too weak';
/** In whatever words. */
export const refused = '';
export const notKnown = 'which is not known here';

export const root = authority('root');

export interface Chain {
  readonly leaf: Holder;
  readonly between?: readonly Holder[];
  readonly roots?: readonly Holder[];
  readonly atMs?: number;
}

export const verdict = ({ leaf, between = [], roots = [root], atMs = nowMs }: Chain): string => {
  try {
    verifyChain({
      leaf: leaf.certificate,
      intermediates: between.map(({ certificate }) => certificate),
      authorities: roots.map(({ certificate }) => certificate),
      usage: clientAuth,
      nowMs: atMs,
    });
    return 'holds';
  } catch (error) {
    return (error as Error).message;
  }
};

/** One authority between, and a client that it has signed. */
export const below = (between: Holder): Chain => ({ leaf: client(between), between: [between] });

/** Authorities in a row, each with its path length, and a client of the last one. */
export function row(...lengths: readonly (number | undefined)[]): Chain {
  const between: Holder[] = [];
  for (const [at, length] of lengths.entries())
    between.push(
      authority(`authority ${at}`, between.at(-1) ?? root, {
        extensions: [constraints(true, length), keyUsage([5])],
      }),
    );
  return { leaf: client(between.at(-1)!), between };
}

type Case = readonly [name: string, chain: () => Chain, verdict: string];

export function check(cases: readonly Case[]): void {
  it.each(cases)('%s', (_name, chain, expected) => {
    const found = verdict(chain());
    if (expected === 'holds') expect(found).toBe('holds');
    else if (expected === refused) expect(found).not.toBe('holds');
    else expect(found).toContain(expected);
  });
}

export const withExtension = (more: Buffer): Chain =>
  below(authority('a', root, { extensions: [constraints(true), keyUsage([5]), more] }));
