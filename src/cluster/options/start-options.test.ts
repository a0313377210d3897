/** Proves that declarations of options hold together: what they make of flags, and what is wrong with options of programs. */
import { describe, expect, it } from 'vitest';
import { sections } from '../../cli/flag-sections.ts';
import { defaultOf, flagsOf } from './option.ts';
import { checkStartOptions } from './option-check.ts';
import type { StartOptions } from './start-options.ts';

const flags = sections.flatMap(({ topics }) => topics).flatMap(flagsOf);

describe('declared flags', () => {
  it('have defaults that they would take themselves', () => {
    const withDefault = flags.filter((form) => form.default !== undefined);
    expect(withDefault.length).toBeGreaterThan(50);
    for (const form of withDefault) expect(() => defaultOf({ form }), form.flag).not.toThrow();
  });

  it('are declared once for each command', () => {
    const seen = flags.flatMap(({ flag, for: commands }) =>
      commands.map((command) => `${command} --${flag}`),
    );
    expect(seen.filter((one, i) => seen.indexOf(one) !== i)).toEqual([]);
  });

  it('hand in a default only where there is one', () => {
    for (const { flag, preset, default: usual } of flags)
      if (preset) expect({ flag, usual }).toEqual({ flag, usual: expect.any(String) });
  });
});

describe('options of a program', () => {
  it.each([
    [{ prot: 1 }, 'there is no option "prot"; did you mean "port"?'],
    [
      { secure: { anonymus: true } },
      'there is no option "secure.anonymus"; did you mean "secure.anonymous"?',
    ],
    [
      { secure: { oidc: { issuerURL: 'x' } } },
      '"secure.oidc.issuerURL"; did you mean "secure.oidc.issuerUrl"?',
    ],
    [
      { users: [{ name: 'a' }, { nam: 'b' }] },
      'there is no option "users[].nam"; did you mean "users[].name"?',
    ],
    [{ history: { age: 3 } }, 'there is no option "history.age"'],
    [{ apiServer: { kubelet: { ca: 'x' } } }, 'there is no option "apiServer.kubelet.ca"'],
    [{ managedFields: 'some' }, 'managedFields must be "all", "applied" or "off", not "some"'],
    [{ like: 'openshift' }, 'a cluster can be like "kubernetes" only, not "openshift"'],
    [{ store: 'disk' }, 'there is no store "disk"; there are memory, lmdb and etcd'],
  ])('%j are refused', (options, says) => {
    expect(() => checkStartOptions(options as StartOptions)).toThrow(says);
  });

  it('may be undefined, false, or of kinds that are checked where they are read', () => {
    const options = { secure: false, node: true, like: undefined, auditLog: 'file', limits: { nothing: 1 } };
    expect(() => checkStartOptions(options as StartOptions)).not.toThrow();
  });
});
