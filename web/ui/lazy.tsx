/** A component of a module that is loaded when it is first shown. */
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { connectionLost } from '../core/connection.ts';
import { Refusal } from './refusal.tsx';

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
    const attempt = (isFirst: boolean): Promise<void> =>
      load().then(
        (component) => shown && setLoaded({ load, component }),
        (error: Error) =>
          isFirst ? connectionLost().then(() => attempt(false)) : setLoaded({ load, error }),
      ) as Promise<void>;
    void attempt(true);
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
