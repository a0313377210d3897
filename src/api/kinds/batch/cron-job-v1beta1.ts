/**
 * CronJob in batch/v1beta1: a version of the stored batch/v1, the only one that kubectl before 1.21 knows. By default
 * its jobs are kept when it is deleted.
 */
import type { CronJob } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { cronJob, cronJobForm } from './cron-job.ts';

export const cronJobV1beta1 = defineKind<CronJob>({
  ...cronJobForm,
  version: 'v1beta1',
  table: 'batch-v1beta1',
  stored: { kind: cronJob, toStored: (object) => object, fromStored: (object) => object as CronJob },
  deletion: { propagation: 'Orphan' },
  unknownField: (path) => `field label "${path}" not supported for "CronJob"`,
});
