/** Proves that a list of controllers is read as the help describes it. */
import { describe, expect, it } from 'vitest';
import { chosenControllers, controllers } from './controllers.ts';

const all = controllers.map(({ name }) => name);
const housekeeping = [
  'namespace',
  'garbagecollector',
  'serviceaccount',
  'serviceaccount-token',
  'root-ca-cert-publisher',
  'csrapproving',
  'csrsigning',
  'csrcleaner',
  'tokencleaner',
  'bootstrapsigner',
  'clusterrole-aggregation',
  'protection',
  'servicecidr',
  'addressrepair',
  'unreported-nodes',
  'event-expiry',
];
const chosen = (...list: string[]): string[] => chosenControllers(list).map(({ name }) => name);
const without = (names: readonly string[], ...left: string[]): string[] =>
  names.filter((name) => !left.includes(name));

describe('a list of controllers', () => {
  it('of * means all', () => {
    expect(chosen('*')).toEqual(all);
    expect(all).toEqual(expect.arrayContaining(housekeeping));
    expect(all.length).toBeGreaterThan(housekeeping.length);
  });

  it('of none means none, and so does a list of nothing', () => {
    expect(chosen('none')).toEqual([]);
    expect(chosen()).toEqual([]);
  });

  it('of housekeeping means those that belong to the API itself', () => {
    expect(chosen('housekeeping').sort()).toEqual([...housekeeping].sort());
  });

  it('of names means these alone', () => {
    expect(chosen('job', 'namespace')).toEqual(['namespace', 'job']);
    expect(chosen('housekeeping', 'job').sort()).toEqual([...housekeeping, 'job'].sort());
  });

  it('that takes away begins with all, or with what is named before', () => {
    expect(chosen('-job', '-scheduler')).toEqual(without(all, 'job', 'scheduler'));
    expect(chosen('*', '-job')).toEqual(without(all, 'job'));
    expect(chosen('housekeeping', '-protection').sort()).toEqual(without(housekeeping, 'protection').sort());
    expect(chosen('-housekeeping')).toEqual(without(all, ...housekeeping));
  });

  it('is refused with a sentence when it makes no sense', () => {
    expect(() => chosen('cron')).toThrow('there is no controller "cron"; there are namespace,');
    expect(() => chosen('-cron')).toThrow('there is no controller "cron"');
    expect(() => chosen('none', 'job')).toThrow('"none" stands alone in a list of controllers');
    expect(() => chosen('-none')).toThrow('"none" stands alone in a list of controllers');
  });
});
