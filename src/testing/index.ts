/** The public surface of `wherry/testing`: everything exported here is documented, and changes are announced. */

export type { ObjectName } from '../cluster/manifests/object-place.ts';
export type { ChaosOptions, ChaosRule } from './chaos.ts';
export { clusterHooks, type RunnerHooks } from './cluster-hooks.ts';
export type { Duration } from './durations.ts';
export type { Fault, FaultEffect, FaultRule, Faults } from './faults.ts';
export type { FixtureSource } from './fixtures.ts';
export { testCluster } from './late-loading.ts';
export type { FieldChange, ObjectVersion } from './object-history.ts';
export type { SeenRequest } from './request-log.ts';
export type { Pattern, RequestFacts, RequestMatch } from './request-match.ts';
export type { TestClock, TestCluster, TestClusterOptions } from './test-cluster.ts';
export type { TestUser } from './test-users.ts';
export type { AnyObject, Condition } from './waiting.ts';
