/** Helpers for tests of pod workers: a node with scripted containers, and conditions to wait for. */
import type { ContainerStatus, Pod } from '../../api/generated/types.ts';
import { type TestNode, useNode } from '../agent/agent.fixture.ts';
import type { AgentOptions } from '../agent/agent.ts';
import { ScriptedRuntime } from '../runtime/scripted-runtime.fixture.ts';

export let node: TestNode;

/** A node for the tests of a file. */
export function usePodWorkers(): void {
  node = useNode();
}

export async function withAgent(options: Partial<AgentOptions> = {}): Promise<ScriptedRuntime> {
  const runtime = new ScriptedRuntime();
  runtime.folder = node.folder;
  await node.agent(runtime, { secondMs: 10, ...options });
  return runtime;
}

export const first = (pod: Pod): ContainerStatus => pod.status?.containerStatuses?.[0] ?? {};
export const phase = (wanted: string) => (pod: Pod) => pod.status?.phase === wanted;
export const waiting = (reason: string) => (pod: Pod) => first(pod).state?.waiting?.reason === reason;
