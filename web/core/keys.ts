/** The keyboard map: which key does what, here and now. `?` shows it. */
import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';

export interface KeyBinding {
  /** As `KeyboardEvent.key` has it: `/`, `Enter`, `j`. */
  readonly key: string;
  readonly does: string;
  readonly run: (event: KeyboardEvent) => void;
}

/** The latest binding of a key wins, so that a view can have its own. */
export const bindings = signal<readonly KeyBinding[]>([]);

/** Binds keys while a component is shown. `run` of the latest rendering is called. */
export function useKeys(wanted: readonly KeyBinding[]): void {
  const names = wanted.map(({ key, does }) => `${key} ${does}`).join();
  const current: { list: readonly KeyBinding[] } = useCurrent(wanted);
  useEffect(() => {
    const bound = current.list.map(({ key, does }, i) => ({
      key,
      does,
      run: (event: KeyboardEvent) => current.list[i]?.run(event),
    }));
    bindings.value = [...bindings.peek(), ...bound];
    return () => {
      bindings.value = bindings.peek().filter((binding) => !bound.includes(binding));
    };
  }, [names]);
}

function useCurrent(list: readonly KeyBinding[]) {
  const [holder] = useState(() => ({ list }));
  holder.list = list;
  return holder;
}

export function startKeys(): void {
  addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
    const binding = bindings.value.findLast(({ key }) => key === event.key);
    if (!binding) return;
    event.preventDefault();
    binding.run(event);
  });
}

const typing =
  'input:not([type=checkbox]), textarea, select, [contenteditable=true], dialog, [data-keys=own]';

/** Whether a key belongs to a text field, editor, terminal or open dialog with the focus. */
function isTyping({ target, key }: KeyboardEvent): boolean {
  if (!(target instanceof Element)) return false;
  if (target.closest(typing)) return true;
  // Enter activates a link or button, and Space a checkbox.
  return (key === 'Enter' || key === ' ') && target.closest('a, button, input, summary, [role=tab]') !== null;
}
