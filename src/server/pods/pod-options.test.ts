/** Proves how options of exec, attach and portforward are translated to those of a kubelet. */
import { describe, expect, it } from 'vitest';
import { Query } from '../wire/query.ts';
import { encodedCommands, kubeletPortsQuery, kubeletSessionQuery, sessionOptions } from './pod-options.ts';

const kubelet = (text: string, spdy = false, own = false): string =>
  kubeletSessionQuery(sessionOptions(new Query(text)), encodedCommands(text), { spdy, own });

describe('sessions', () => {
  it.each([
    ['stdout=true&command=ls&command=-l', 'command=ls&command=-l&output=1'],
    ['tty=1&stdin=TRUE&stdout=yes&stderr=0', 'input=1&output=1&tty=1'],
    ['stdin=FALSE&stdout=&stderr=False', 'output=1'],
    ['stdin=false&stdout=true&stderr=true&tty=false', 'error=1&output=1'],
    ['stderr=true', 'error=1'],
    ['stdout=false', ''],
    ['', 'error=1&output=1'],
    ['stdin=1', 'error=1&input=1&output=1'],
    ['command=b&stdout=1&command=a+b%20c%26d&command=', 'command=b&command=a%20b%20c%26d&command=&output=1'],
  ])('%s → %s', (api, expected) => {
    expect(kubelet(api)).toBe(expected);
  });

  it('leave streams out that a SPDY client did not name, unless it named none', () => {
    expect(kubelet('stdin=1', true)).toBe('input=1');
    expect(kubelet('', true)).toBe('error=1&output=1');
    expect(kubelet('stdin=1&stdout=1', true)).toBe('input=1&output=1');
  });

  it('tell our own agent which streams need not be waited for', () => {
    expect(kubelet('stdin=1', true, true)).toBe('error=1&input=1&optional=1&output=1');
    expect(kubelet('', false, true)).toBe('error=1&optional=1&output=1');
    expect(kubelet('stdout=1', true, true)).toBe('output=1');
  });

  it('keep the bytes of a command that are no text', () => {
    expect(encodedCommands('command=%FF%00%zz&xcommand=a&%63ommand=ü')).toEqual(['%FF%00%25zz', '%C3%BC']);
  });
});

describe('ports', () => {
  it.each([
    ['', ''],
    ['ports=80', 'port=80'],
    ['ports=80,443&ports=8080', 'port=80,443,8080'],
  ])('%s → %s', (api, expected) => {
    expect(kubeletPortsQuery(new Query(api))).toBe(expected);
  });

  it.each([
    ['abc', 'invalid syntax'],
    ['', 'invalid syntax'],
    ['-1', 'invalid syntax'],
    ['80,', 'invalid syntax'],
    ['65536', 'value out of range'],
  ])('%s is refused', (value, why) => {
    const named = value.endsWith(',') ? '' : value;
    expect(() => kubeletPortsQuery(new Query(`ports=${value}`))).toThrow(
      `cannot convert to []int32: strconv.ParseUint: parsing "${named}": ${why}`,
    );
  });
});
