/** The public surface of `wherry/testing`: everything exported here is documented, and changes are announced. */

export type { ChaosOptions, ChaosRule } from './chaos.ts';
export { clusterHooks, type RunnerHooks } from './clusterhooks.ts';
export type { Duration } from './durations.ts';
export type { Fault, FaultEffect, FaultRule, Faults } from './faults.ts';
export type { FixtureSource } from './fixtures.ts';
export { testCluster } from './lateloading.ts';
export type { FieldChange, ObjectVersion } from './objecthistory.ts';
export type { ObjectName } from './objectplace.ts';
export type { SeenRequest } from './requestlog.ts';
export type { Pattern, RequestFacts, RequestMatch } from './requestmatch.ts';
export type { TestClock, TestCluster, TestClusterOptions } from './testcluster.ts';
export type { TestUser } from './testusers.ts';
export type { AnyObject, Condition } from './waiting.ts';
