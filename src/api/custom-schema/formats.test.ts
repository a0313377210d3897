/** Proves which texts fit each string format, and which formats belong to which type. */
import { describe, expect, it } from 'vitest';
import { formatCheck, isFormatOf, isKnownFormat } from './formats.ts';

const texts: Record<string, { good: string[]; bad: string[] }> = {
  'date-time': {
    good: ['2020-01-02T03:04:05Z', '2020-01-02t03:04:05.123z', '2020-02-29T23:59:59+02:00'],
    bad: ['yesterday', '2020-01-02', '2020-01-02 03:04:05Z', '2020-01-02T24:00:00Z', '2021-02-29T00:00:00Z'],
  },
  date: {
    good: ['2020-02-29', '0001-01-01'],
    bad: ['2020-13-01', '2021-02-29', '2020-1-1', '', '2020-00-10'],
  },
  duration: {
    good: ['1h30m', '1.5s', '-2m', '3 days', '2 weeks 1 hr', '15 minutes', '5us', '4 µs'],
    bad: ['long', '5', '', 'h', '3 moons'],
  },
  byte: { good: ['aGk=', 'aGkh', 'aA=='], bad: ['!!', 'aGk', '', 'aG=k'] },
  email: {
    good: ['a@b.c', 'a.b+c@example.com', 'Ann <a@b.c>', '"a b"@c.d', 'a@[10.0.0.1]'],
    bad: ['nobody', '@b', 'a@', 'a b@c.d', 'a@b@c'],
  },
  hostname: {
    good: ['www.example.com', 'localhost', 'my-host', '1.example.org', 'münchen.de'],
    bad: ['a..b', 'a.b', '-a', 'a-', '', 'under_score', 'x'.repeat(64), `${'abcdefg.'.repeat(32)}com`],
  },
  ipv4: { good: ['1.2.3.4'], bad: ['1.2.3', '::1', '01.2.3.4', '1.2.3.256'] },
  ipv6: { good: ['::1', '2001:db8::ff', '::ffff:1.2.3.4'], bad: ['1.2.3.4', ':::', 'g::'] },
  cidr: { good: ['10.0.0.0/8', '2001:db8::/32'], bad: ['10.0.0.0', '10.0.0.0/33'] },
  mac: {
    good: ['00:11:22:33:44:55', '00-11-22-33-44-55', '0011.2233.4455'],
    bad: ['zz', '00:11', '00:11-22:33:44:55'],
  },
  uri: {
    good: ['https://x.example.com/a', '/absolute/path', 'ftp://h:21/x?q=1#f', 'http://[::1]:80/'],
    bad: ['not a uri', 'mailto:a@b.c', 'http://a b/', 'http://x/%zz', 'relative', 'http://x:port/', ''],
  },
  uuid: {
    good: ['b1b2b3b4-1111-2222-3333-444455556666', 'B1B2B3B4111122223333444455556666'],
    bad: ['xyz', ''],
  },
  uuid3: { good: ['b1b2b3b4-1111-3222-3333-444455556666'], bad: ['b1b2b3b4-1111-4222-3333-444455556666'] },
  uuid4: { good: ['b1b2b3b4-1111-4222-a333-444455556666'], bad: ['b1b2b3b4-1111-4222-c333-444455556666'] },
  uuid5: { good: ['b1b2b3b4-1111-5222-8333-444455556666'], bad: ['b1b2b3b4-1111-4222-8333-444455556666'] },
  isbn: { good: ['0-306-40615-2', '978-0-306-40615-7'], bad: ['0-306-40615-3', '1'] },
  isbn10: { good: ['0306406152', '097522980X'], bad: ['9780306406157'] },
  isbn13: { good: ['9780306406157'], bad: ['0306406152', '9780306406158'] },
  creditcard: { good: ['4111 1111 1111 1111'], bad: ['4111 1111 1111 1112', '4111'] },
  ssn: { good: ['123-45-6789', '123456789'], bad: ['12-345-6789'] },
  hexcolor: { good: ['#fff', 'A0B1c2'], bad: ['#ffff', 'red'] },
  rgbcolor: { good: ['rgb(0, 12,255)'], bad: ['rgb(256,0,0)', 'rgb(01,0,0)', 'rgba(0,0,0,0)'] },
  bsonobjectid: { good: ['507f1f77bcf86cd799439011'], bad: ['507f1f77bcf86cd79943901'] },
  password: { good: ['', 'anything'], bad: [] },
  'k8s-short-name': { good: ['a-1'], bad: ['a.b', 'A'] },
  'k8s-long-name': { good: ['a.b'], bad: ['A', '-'] },
};

describe.each(Object.entries(texts))('%s', (format, { good, bad }) => {
  const fits = formatCheck(format)!;
  it('takes', () => expect(good.filter((text) => !fits(text))).toEqual([]));
  it('refuses', () => expect(bad.filter(fits)).toEqual([]));
});

it('knows formats with and without dashes, by type', () => {
  expect(['date-time', 'datetime', 'int32', 'float'].every(isKnownFormat)).toBe(true);
  expect(isKnownFormat('made-up')).toBe(false);
  expect(isFormatOf('string', 'date')).toBe(true);
  expect(isFormatOf(undefined, 'date')).toBe(true);
  expect(isFormatOf('integer', 'date')).toBe(false);
  expect(isFormatOf('integer', 'int64')).toBe(true);
  expect(isFormatOf('number', 'int64')).toBe(false);
  expect(isFormatOf('string', 'double')).toBe(false);
});

it('takes no long time for texts that nearly fit', () => {
  const long = '1 a'.repeat(100_000);
  for (const format of Object.keys(texts)) formatCheck(format)!(`${long}!`);
});
