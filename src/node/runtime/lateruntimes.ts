/** Runtimes that are loaded when the first pod needs them, or their engine is found. */
import type { LateRuntime } from './runtimechoice.ts';

/** Simulated pods on a node that also runs real ones. */
export const lateSimulation = (now: () => number): LateRuntime => ({
  name: 'simulated',
  isThere: () => true,
  open: async () => {
    const { SimulatedAddresses, SimulatedRuntime } = await import('./simulatedruntime.ts');
    return new SimulatedRuntime(new SimulatedAddresses(), now);
  },
});
