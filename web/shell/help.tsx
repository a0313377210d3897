/** The keys that do something now. */
import { bindings } from '../core/keys.ts';
import { Dialog } from '../ui/dialog.tsx';

const shownNames: Readonly<Record<string, string>> = { ' ': 'Space', ArrowDown: '↓', ArrowUp: '↑' };

export function Help({ onClose }: { readonly onClose: () => void }) {
  const current = new Map(bindings.value.map(({ key, does }) => [key, does]));
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl class="keys">
        {[...current].map(([key, does]) => (
          <div key={key}>
            <dt>
              <kbd>{shownNames[key] ?? key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
