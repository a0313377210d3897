/** Proves that rules for all requests are followed, and that a server without rules has none in its way. */
import { describe, expect, it } from 'vitest';
import { Http2Request } from '../wire/http2-request.ts';
import type { ApiRequest, ApiResponse } from './context.ts';
import type { Door, Reception } from './door.ts';
import { type ServingRuleOptions, servingRulesProblem, withServingRules } from './serving-rules.ts';

function asked(options: ServingRuleOptions, method: string, origin?: string, chance = 0) {
  const passed: unknown[] = [];
  const reception = { request: (...call: unknown[]) => void passed.push(call) } as unknown as Reception;
  const headers = new Map<string, string>();
  const answered: number[] = [];
  const response = {
    setHeader: (name: string, value: string) => headers.set(name, value),
    writeHead: (code: number) => answered.push(code),
    end: () => undefined,
  } as unknown as ApiResponse;
  let ended = 0;
  const request = Object.assign(Object.create(Http2Request.prototype) as object, {
    method,
    headers: { origin },
    endConnectionAfter: () => ended++,
  }) as unknown as ApiRequest;
  withServingRules(reception, options, () => chance).request({} as Door, request, response, 0);
  return { passed: passed.length, headers: Object.fromEntries(headers), answered, ended };
}

describe('rules', () => {
  it('are not there where none is asked for', () => {
    const reception = {} as Reception;
    expect(withServingRules(reception, {}, Math.random)).toBe(reception);
    expect(withServingRules(reception, { corsAllowedOrigins: [], goawayChance: 0 }, Math.random)).toBe(
      reception,
    );
  });

  it('let pages of named origins in, and answer what browsers ask before', () => {
    const cors = { corsAllowedOrigins: ['^https://ours\\.example$'] };
    const page = asked(cors, 'GET', 'https://ours.example');
    expect(page.passed).toBe(1);
    expect(page.headers).toMatchObject({
      'Access-Control-Allow-Origin': 'https://ours.example',
      'Access-Control-Allow-Credentials': 'true',
    });
    expect(asked(cors, 'OPTIONS', 'https://ours.example')).toMatchObject({ passed: 0, answered: [204] });
    expect(asked(cors, 'OPTIONS', 'https://theirs.example')).toMatchObject({ passed: 1, headers: {} });
    expect(asked(cors, 'GET')).toMatchObject({ passed: 1, headers: {} });
  });

  it('add the header about TLS, and end connections of HTTP/2 by chance', () => {
    const strict = { strictTransportSecurity: ['max-age=60', 'preload'] };
    expect(asked(strict, 'GET').headers).toEqual({ 'Strict-Transport-Security': 'max-age=60; preload' });
    expect(asked({ goawayChance: 0.02 }, 'GET', undefined, 0.01)).toMatchObject({ passed: 1, ended: 1 });
    expect(asked({ goawayChance: 0.02 }, 'GET', undefined, 0.03)).toMatchObject({ passed: 1, ended: 0 });
  });

  it('are refused when they make no sense', () => {
    expect(servingRulesProblem({ corsAllowedOrigins: ['['] })).toContain('has an invalid regular expression');
    expect(servingRulesProblem({ strictTransportSecurity: ['x'] })).toContain('invalid, allowed values');
    expect(servingRulesProblem({ goawayChance: 0.5 })).toContain('can not be less than 0');
    expect(servingRulesProblem({ goawayChance: 0.01 })).toBeUndefined();
  });
});
