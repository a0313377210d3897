/**
 * CronJob as batch/v1beta1 had it: the same thing as in batch/v1, where it is stored. kubectl before 1.21 knows only this
 * version. Its jobs stay when it is deleted, unless the client says otherwise.
 */
import type { CronJob } from '../generated/types.ts';
import { defineKind } from '../kind.ts';
import { cronJob, cronJobForm } from './cronjob.ts';

export const cronJobV1beta1 = defineKind<CronJob>({
  ...cronJobForm,
  version: 'v1beta1',
  table: 'batch-v1beta1',
  stored: { kind: cronJob, toStored: (object) => object, fromStored: (object) => object as CronJob },
  defaultPropagation: 'Orphan',
  unknownField: (path) => `field label "${path}" not supported for "CronJob"`,
});
