/** Proves that a job is the same object in both groups, and that fields which one version lacks are kept. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Job, JobSpecV1, JobStatusV1, JobV1 } from '../../generated/types.ts';
import type { Kind } from '../../kind/kind.ts';
import { decodeObject } from '../../model/decode.ts';
import { normalized } from '../../model/encode.ts';
import type { ApiObject, JsonObject } from '../../text/object.ts';
import { job } from '../extensions/job.ts';
import { batchJob } from './batch-job.ts';

const { toStored, fromStored } = job.stored!;

const json = (kind: Kind, object: ApiObject): JsonObject =>
  normalized(kind.model, object as unknown as JsonObject);
/** The body of a client that sends back what it has read. */
const reread = (kind: Kind, object: ApiObject): ApiObject =>
  decodeObject(kind.model, json(kind, object)) as unknown as ApiObject;

const count = fc.nat(9);
const text = fc.constantFrom('a', 'b', 'c');
const labels = fc.dictionary(text, text, { maxKeys: 2 });
const time = fc.constantFrom('2024-05-01T12:00:00Z', '2024-05-01T13:00:00Z');
const some = <T extends object>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }) =>
  fc.record(model, { requiredKeys: [] });
const metadata = fc.record({ name: text, labels });
const template = fc.record({
  metadata: fc.record({ labels }),
  spec: fc.record({ containers: fc.array(fc.record({ name: text, image: text }), { minLength: 1 }) }),
});
const commonSpec = {
  parallelism: count,
  completions: count,
  activeDeadlineSeconds: count,
  selector: fc.record({ matchLabels: labels }),
  template,
};
const commonStatus = {
  conditions: fc.array(fc.record({ type: text, status: text })),
  startTime: time,
  completionTime: time,
  active: count,
  succeeded: count,
  failed: count,
};

const oldJob = fc.record({
  metadata,
  spec: some({ ...commonSpec, autoSelector: fc.constant(true) }),
  status: some(commonStatus),
}) as fc.Arbitrary<Job>;

/** Stored jobs, with manualSelector set. */
const newJob = fc.record({
  metadata,
  spec: fc
    .tuple(
      fc.record({ manualSelector: fc.boolean() }),
      some({
        ...commonSpec,
        backoffLimit: count,
        backoffLimitPerIndex: count,
        maxFailedIndexes: count,
        ttlSecondsAfterFinished: count,
        completionMode: fc.constantFrom('Indexed', 'NonIndexed'),
        suspend: fc.boolean(),
        podReplacementPolicy: fc.constantFrom('Failed', 'TerminatingOrFailed'),
        managedBy: fc.constant('example.com/a'),
        podFailurePolicy: fc.constant({
          rules: [{ action: 'Count', onPodConditions: [{ type: 'a', status: 'True' }] }],
        }),
        successPolicy: fc.constant({ rules: [{ succeededCount: 1 }] }),
      }),
    )
    .map(([one, other]) => {
      const spec = { ...one, ...other } as JobSpecV1;
      batchJob.defaults!({ metadata: {}, spec } as JobV1);
      return spec;
    }),
  status: some({
    ...commonStatus,
    ready: count,
    terminating: count,
    completedIndexes: text,
    failedIndexes: text,
    uncountedTerminatedPods: fc.record({ succeeded: fc.array(text), failed: fc.array(text) }),
  }),
}) as fc.Arbitrary<JobV1>;

test('the old form is the same after a visit to the store', () => {
  fc.assert(
    fc.property(oldJob, (object) => {
      const back = fromStored(json(batchJob, toStored(object, undefined)) as unknown as ApiObject);
      expect(json(job, back)).toEqual(json(job, object));
    }),
  );
});

test('nothing of the stored form is lost when the old form is written back', () => {
  fc.assert(
    fc.property(newJob, (object) => {
      const old = json(batchJob, object) as unknown as ApiObject;
      const back = toStored(reread(job, fromStored(old)), old);
      expect(json(batchJob, back)).toEqual(old);
    }),
  );
});

test('what the old form says is what the stored form says afterwards', () => {
  fc.assert(
    fc.property(oldJob, newJob, (object, old) => {
      const stored = toStored(object, json(batchJob, old) as unknown as ApiObject);
      expect(json(job, fromStored(stored))).toEqual(json(job, object));
      const kept = (
        { backoffLimit, suspend, completionMode }: JobSpecV1 = {},
        { ready }: JobStatusV1 = {},
      ) => ({
        backoffLimit,
        suspend,
        completionMode,
        ready,
      });
      expect(kept((stored as JobV1).spec, (stored as JobV1).status)).toEqual(kept(old.spec, old.status));
    }),
  );
});

describe('who chooses the selector', () => {
  const stored = (autoSelector: boolean | undefined) =>
    (toStored({ metadata: {}, spec: { autoSelector } } as Job, undefined) as JobV1).spec?.manualSelector;
  const shown = (manualSelector: boolean | undefined) =>
    (fromStored({ metadata: {}, spec: { manualSelector } } as JobV1) as Job).spec?.autoSelector;

  test('is said the other way round', () => {
    expect([stored(undefined), stored(false), stored(true)]).toEqual([true, true, false]);
    expect([shown(undefined), shown(false), shown(true)]).toEqual([true, true, undefined]);
  });
});

test('a job made in the old form has the defaults of the new one, and never gives up', () => {
  const { spec } = toStored({ metadata: {}, spec: { parallelism: 1 } } as Job, undefined) as JobV1;
  expect(spec).toMatchObject({
    backoffLimit: 2 ** 31 - 1,
    completionMode: 'NonIndexed',
    suspend: false,
    podReplacementPolicy: 'TerminatingOrFailed',
    manualSelector: true,
  });
});

test('only the new form is shown by `kubectl get all`', () => {
  expect([batchJob.categories, job.categories]).toEqual([['all'], []]);
  expect(job.storage).toBe(batchJob);
});
