/** Proves that metrics are written as Prometheus reads them, with any label values. */
import { describe, expect, it } from 'vitest';
import { parseMetrics } from '../../../test/support/metrics.ts';
import { Exposition, Histogram, labelText } from './exposition.ts';

describe('labels', () => {
  it.each([
    'plain',
    '',
    'a "quote"',
    'back\\slash',
    'a\nline',
    '\\n',
    '"} 1\napiserver_request_total{code="200',
    'ümläut ☃',
  ])('may hold %j', (value) => {
    // Proves that a hostile value cannot add a sample, and reads back as it was.
    const out = new Exposition()
      .family('a_total', 'counter', 'Help.')
      .sample(7, labelText({ x: value, y: '1' }));
    expect(parseMetrics(out.toString()).all).toEqual([
      { name: 'a_total', labels: { x: value, y: '1' }, value: 7 },
    ]);
  });
});

describe('numbers', () => {
  it('may be without bounds or none', () => {
    // Proves the spelling of infinities and NaN.
    const out = new Exposition().family('g', 'gauge', 'Help with\na line.');
    for (const value of [1.5, 1e21, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN])
      out.sample(value);
    expect(out.toString()).toBe(
      '# HELP g Help with\\na line.\n# TYPE g gauge\ng 1.5\ng 1e+21\ng +Inf\ng -Inf\ng NaN\n',
    );
  });
});

describe('a histogram', () => {
  it('counts what is at or below each bound', () => {
    // Proves that buckets are cumulative, and that bounds are inclusive.
    const histogram = new Histogram([1, 2, 4]);
    for (const value of [0.5, 1, 1.5, 4, 100]) histogram.observe(value);
    const out = new Exposition().family('h', 'histogram', 'Help.');
    histogram.writeTo(out, 'verb="GET"');
    const metrics = parseMetrics(out.toString());
    const bucket = (le: string) => metrics.value('h_bucket', { verb: 'GET', le });
    expect(['1', '2', '4', '+Inf'].map(bucket)).toEqual([2, 3, 4, 5]);
    expect(metrics.value('h_sum', { verb: 'GET' })).toBe(107);
    expect(metrics.value('h_count', { verb: 'GET' })).toBe(5);
  });
});
