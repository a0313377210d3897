/** Requests of tests. */
import type { Verb } from '../api/kind.ts';
import { Request, type RequestForm } from './request.ts';

/** A request of somebody about whom no rule says anything. */
export const asTester = (verb: Verb, form: Partial<RequestForm> = {}): Request =>
  new Request({
    user: { name: 'tester', groups: ['system:authenticated'] },
    verb,
    userAgent: 'vitest',
    ...form,
  });
