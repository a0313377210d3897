/** Requests of tests. */
import type { Verb } from '../api/kind/kind.ts';
import { Request, type RequestForm } from './request.ts';

/** A request by a user without special rights. */
export const asTester = (verb: Verb, form: Partial<RequestForm> = {}): Request =>
  new Request({
    user: { name: 'tester', groups: ['system:authenticated'] },
    verb,
    userAgent: 'vitest',
    ...form,
  });
