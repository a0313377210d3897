/** Proves that a request's field manager is the one it names, or is derived from the user agent as in Kubernetes. */
import { describe, expect, it } from 'vitest';
import { Request, type RequestForm } from './request.ts';

const user = { name: 'alice', groups: ['system:authenticated'] };

const requestOf = (form: Partial<RequestForm>): Request =>
  new Request({ user, verb: 'update', userAgent: '', ...form });

const managerOf = (userAgent: string): string => requestOf({ userAgent }).fieldManager;

/** Header bytes are UTF-8, and Node's HTTP parser reads one character per byte. */
const header = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

describe('field managers', () => {
  it.each([
    ['kubectl/v1.36.0 (linux/amd64) kubernetes/abc', 'kubectl'],
    ['curl', 'curl'],
    ['', 'unknown'],
    ['/v1', 'unknown'],
    ['\t/1', 'unknown'],
    ['My Tool/2', 'My Tool'],
    ['a\tb\u007fc/1', 'abc'],
  ])('%j stands for %j', (userAgent, manager) => expect(managerOf(userAgent)).toBe(manager));

  it('read user agents as UTF-8', () => {
    expect(managerOf(header('Grüße/1'))).toBe('Grüße');
    expect(managerOf(header('a\u00a0b\u200bc/1'))).toBe('abc');
  });

  it('are cut at a character, to 128 bytes', () => {
    expect(managerOf(`${'x'.repeat(200)}/1`)).toBe('x'.repeat(128));
    expect(managerOf(header(`x${'ü'.repeat(100)}/1`))).toBe(`x${'ü'.repeat(63)}`);
    expect(managerOf(header(`${'x'.repeat(126)}€y/1`))).toBe('x'.repeat(126));
  });

  it('are those that requests name', () => {
    const named = requestOf({ userAgent: 'kubectl/1', fieldManager: 'gitops' });
    expect(named.fieldManager).toBe('gitops');
    expect(named.asDryRun().fieldManager).toBe('gitops');
  });
});

describe('a dry run of a request', () => {
  it('is the same request in all else', () => {
    const form: RequestForm = {
      user,
      verb: 'create',
      userAgent: 'tool/1',
      fieldValidation: 'Strict',
      askedValidation: 'Strict',
      warnings: ['w'],
      deadlineMs: 5,
      annotated: { annotations: {} },
      internal: true,
      isApply: true,
    };
    const request = new Request(form);
    expect({ ...request.asDryRun() }).toEqual({ ...form, dryRun: true });
    expect(request.asDryRun().warnings).toBe(request.warnings);
    expect(request.dryRun).toBe(false);
  });
});
