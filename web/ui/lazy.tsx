/** A component of a module that is loaded when it is first shown. */
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { connectionLost } from '../core/connection.ts';
import { Refusal } from './refusal.tsx';

/** How often loading is tried: browsers abort it when a network interface of the machine changes. */
const attemptsMax = 5;

interface LazyProps<P> {
  /** Loads the module; the same function for the same module. */
  readonly load: () => Promise<ComponentType<P>>;
  readonly props: P;
}

interface Loaded<P> {
  readonly load: LazyProps<P>['load'];
  readonly component?: ComponentType<P>;
  readonly error?: Error;
}

export function Lazy<P extends object>({ load, props }: LazyProps<P>) {
  const [loaded, setLoaded] = useState<Loaded<P>>();
  useEffect(() => {
    let shown = true;
    const attempt = (left: number): Promise<void> =>
      load().then(
        (component) => shown && setLoaded({ load, component }),
        (error: Error) =>
          left > 1 ? connectionLost().then(() => attempt(left - 1)) : setLoaded({ load, error }),
      ) as Promise<void>;
    void attempt(attemptsMax);
    return () => {
      shown = false;
    };
  }, [load]);
  if (loaded?.load !== load) return <p class="waiting">Loading…</p>;
  if (loaded.error)
    return (
      <Refusal error={loaded.error} what="This part of the page could not be loaded; load the page anew." />
    );
  const Component = loaded.component!;
  return <Component {...props} />;
}
