/** Proves CronJob: defaults, the rules for schedule, zone, limits and job template, update rules, warnings and table. */
import { describe, expect, test } from 'vitest';
import {
  cells,
  created,
  createdAge,
  createdText,
  createErrors,
  error,
  read,
  statusErrors,
  texts,
  updated,
  updateErrors,
  written,
} from '../kind.fixture.ts';
import { cronJob } from './cron-job.ts';
import { cronJobV1beta1 } from './cron-job-v1beta1.ts';

const template = (spec: object = {}) => ({
  metadata: { labels: { a: 'b' } },
  spec: { containers: [{ name: 'c', image: 'i:1' }], restartPolicy: 'Never', ...spec },
});
const body = (spec: object = {}, job: object = {}, metadata: object = {}) => ({
  metadata,
  spec: { schedule: '*/5 * * * *', jobTemplate: { spec: { template: template(), ...job } }, ...spec },
});
const jobPath = 'spec.jobTemplate.spec';

describe('defaults', () => {
  test('of everything but what a job leaves open', () => {
    const { spec } = written(cronJob, body());
    expect(spec).toMatchObject({
      schedule: '*/5 * * * *',
      concurrencyPolicy: 'Allow',
      suspend: false,
      successfulJobsHistoryLimit: 3,
      failedJobsHistoryLimit: 1,
      jobTemplate: {
        spec: { template: { spec: { dnsPolicy: 'ClusterFirst', terminationGracePeriodSeconds: 30 } } },
      },
    });
    const job = (spec as { jobTemplate: { spec: object } }).jobTemplate.spec;
    expect(Object.keys(job)).toEqual(['template']);
  });

  test('leave alone what is there', () => {
    const given = {
      concurrencyPolicy: 'Replace',
      suspend: true,
      successfulJobsHistoryLimit: 0,
      failedJobsHistoryLimit: 0,
    };
    expect(read(cronJob, body(given)).spec).toMatchObject(given);
  });

  test('make sense of nothing at all', () => {
    expect(createErrors(cronJob, { spec: {} }).map(({ field }) => field)).toEqual([
      'spec.schedule',
      `${jobPath}.template.spec.containers`,
      `${jobPath}.template.spec.restartPolicy`,
    ]);
  });
});

test('a status is not taken from who creates', () => {
  expect(created(cronJob, { ...body(), status: { lastScheduleTime: createdText } }).status).toBeUndefined();
});

describe('a good one', () => {
  test.each([
    ['@every 1h30m', undefined],
    ['@monthly', 'UTC'],
    ['0 9-17 * JAN-MAR MON,WED', 'Europe/Berlin'],
    ['0 0 30 2 *', 'America/Argentina/Buenos_Aires'],
    ['? ? ? ? ?', 'Etc/GMT+5'],
  ])('%s in %s', (schedule, timeZone) => {
    expect(createErrors(cronJob, body({ schedule, timeZone, startingDeadlineSeconds: 0 }))).toEqual([]);
  });
});

describe('is refused for', () => {
  const invalid = (field: string, value: unknown, detail: string) =>
    error('I', field, `Invalid value: ${JSON.stringify(value)}: ${detail}`);

  test.each([
    ['* * * *', 'expected exactly 5 fields, found 4: [* * * *]'],
    ['* * * * 7', 'end of range (7) above maximum (6): 7'],
    ['@never', 'unrecognized descriptor: @never'],
  ])('the schedule %s', (schedule, detail) => {
    expect(createErrors(cronJob, body({ schedule }))).toEqual([invalid('spec.schedule', schedule, detail)]);
  });

  test.each(['TZ=UTC * * * * *', 'CRON_TZ=Europe/Berlin @daily'])(
    'a zone in the schedule: %s',
    (schedule) => {
      expect(createErrors(cronJob, body({ schedule }))).toEqual([
        invalid(
          'spec.schedule',
          schedule,
          'cannot use TZ or CRON_TZ in schedule, use timeZone field instead',
        ),
      ]);
    },
  );

  test.each([
    ['', 'timeZone must be nil or non-empty string'],
    ['Europe/Atlantis', 'unknown time zone Europe/Atlantis'],
    ['europe/berlin', 'unknown time zone europe/berlin'],
    ['../Berlin', 'unknown time zone ../Berlin'],
    ['Europe//Berlin', 'unknown time zone Europe//Berlin'],
    ['+01:00', 'unknown time zone +01:00'],
    ['Local', 'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones'],
  ])('the zone %j', (timeZone, detail) => {
    expect(createErrors(cronJob, body({ timeZone }))).toEqual([invalid('spec.timeZone', timeZone, detail)]);
  });

  test.each(['startingDeadlineSeconds', 'successfulJobsHistoryLimit', 'failedJobsHistoryLimit'])(
    'a negative %s',
    (name) => {
      expect(createErrors(cronJob, body({ [name]: -1 }))).toEqual([
        invalid(`spec.${name}`, -1, texts.notNegative),
      ]);
    },
  );

  test('an unknown policy', () => {
    expect(createErrors(cronJob, body({ concurrencyPolicy: 'Maybe' }))).toEqual([
      error(
        'N',
        'spec.concurrencyPolicy',
        'Unsupported value: "Maybe": supported values: "Allow", "Forbid", "Replace"',
      ),
    ]);
  });

  test('a name that its jobs cannot be called after', () => {
    const name = 'n'.repeat(53);
    expect(createErrors(cronJob, body({}, {}, { name: name.slice(1) }))).toEqual([]);
    expect(createErrors(cronJob, body({}, {}, { name }))).toEqual([
      invalid('metadata.name', name, 'must be no more than 52 characters'),
    ]);
    expect(updateErrors(cronJob, body({}, {}, { name }), body({}, {}, { name }))).toEqual([]);
  });

  test('a job template with a selector of its own', () => {
    const selector = { matchLabels: { a: 'b' } };
    expect(createErrors(cronJob, body({}, { selector, manualSelector: true }))).toEqual([
      invalid(`${jobPath}.selector`, selector, '`selector` will be auto-generated'),
      error('N', `${jobPath}.manualSelector`, 'Unsupported value: true: supported values: "nil", "false"'),
    ]);
    expect(createErrors(cronJob, body({}, { manualSelector: false }))).toEqual([]);
  });

  test('what is wrong with its jobs', () => {
    const job = {
      parallelism: -1,
      backoffLimit: -2,
      completionMode: 'Odd',
      template: template({ restartPolicy: 'Always', containers: [] }),
    };
    expect(createErrors(cronJob, body({}, job)).map(({ field }) => field)).toEqual([
      `${jobPath}.parallelism`,
      `${jobPath}.backoffLimit`,
      `${jobPath}.completionMode`,
      `${jobPath}.template.spec.containers`,
      `${jobPath}.template.spec.restartPolicy`,
    ]);
  });
});

describe('an update', () => {
  test('may change everything', () => {
    const other = body(
      { schedule: '@daily', timeZone: 'UTC' },
      { template: template({ restartPolicy: 'OnFailure' }) },
    );
    expect(updateErrors(cronJob, other, body())).toEqual([]);
  });

  test('may leave a zone that is no longer known, and not choose one', () => {
    const old = body({ timeZone: 'Europe/Atlantis' });
    expect(updateErrors(cronJob, old, old)).toEqual([]);
    expect(updateErrors(cronJob, body({ timeZone: 'Europe/Lyonesse' }), old)).toHaveLength(1);
  });

  test('of the status is free', () => {
    expect(statusErrors(cronJob, { ...body(), status: { active: [{ name: 'x' }] } }, body())).toEqual([]);
  });
});

describe('warnings', () => {
  const warnings = (object: object, old?: object) => {
    const before = old && { ...written(cronJob, old), metadata: { name: 'a', generation: 1 } };
    const now = before ? updated(cronJob, object, before) : created(cronJob, object);
    return cronJob.warnings!(now, before);
  };
  const ports = [
    { containerPort: 80, protocol: 'TCP' },
    { containerPort: 80, protocol: 'TCP' },
  ];
  const odd = body({}, { template: template({ containers: [{ name: 'c', image: 'i:1', ports }] }) });

  test('tell of odd names and pods', () => {
    expect(warnings(body({}, {}, { name: 'a.b' }))[0]).toMatch(
      /^metadata.name: this is used in Pod names and hostnames/,
    );
    expect(warnings(odd)).toEqual([
      `${jobPath}.template.spec.containers[0].ports[1]: duplicate port definition with ${jobPath}.template.spec.containers[0].ports[0]`,
    ]);
    expect(warnings(body())).toEqual([]);
  });

  test('tell of large jobs', () => {
    const large = { completionMode: 'Indexed', completions: 200_000, parallelism: 20_000 };
    expect(warnings(body({}, large))[0]).toMatch(/^spec\.jobTemplate\.spec: In Indexed Jobs with/);
  });

  test('are not repeated when the spec stays the same', () => {
    expect(warnings({ ...odd, metadata: { generation: 1 } }, odd)).toEqual([]);
    expect(warnings({ ...odd, metadata: { generation: 2 } }, odd)).toHaveLength(1);
  });

  test('tell on an update of a zone in the schedule', () => {
    const zoned = body({ schedule: 'TZ=UTC 0 0 * * *' });
    expect(warnings(zoned)).toEqual([]);
    expect(warnings(zoned, zoned)).toEqual([
      'cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details',
    ]);
  });
});

test('columns', () => {
  expect(cells(cronJob, body())).toEqual({
    Name: 'a',
    Schedule: '*/5 * * * *',
    Timezone: '<none>',
    Suspend: 'False',
    Active: 0,
    'Last Schedule': '<none>',
    Age: createdAge,
    '*Containers': 'c',
    '*Images': 'i:1',
    '*Selector': '<none>',
  });
  const status = { active: [{ name: 'x' }, { name: 'y' }], lastScheduleTime: createdText };
  expect(cells(cronJob, { ...body({ suspend: true, timeZone: 'UTC' }), status })).toMatchObject({
    Timezone: 'UTC',
    Suspend: 'True',
    Active: 2,
    'Last Schedule': createdAge,
  });
});

describe('as v1beta1', () => {
  test('it is the same thing', () => {
    const { spec } = written(cronJobV1beta1, body());
    expect(spec).toEqual(written(cronJob, body()).spec);
    expect(createErrors(cronJobV1beta1, body({ schedule: 'x' }))).toEqual(
      createErrors(cronJob, body({ schedule: 'x' })),
    );
    expect([cronJobV1beta1.apiVersion, cronJobV1beta1.storage]).toEqual(['batch/v1beta1', cronJob]);
  });

  test('its jobs stay when nothing is said about them', () => {
    expect([cronJob.deletion.propagation, cronJobV1beta1.deletion.propagation]).toEqual([
      'Background',
      'Orphan',
    ]);
  });

  test('an unknown field is refused in its own words', () => {
    expect(cronJobV1beta1.unknownField!('spec.x')).toBe('field label "spec.x" not supported for "CronJob"');
  });
});
