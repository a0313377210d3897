/** A part of a whole as a bar, with its numbers as text. */
import type { Tone } from './tone.ts';

interface ShareBarProps {
  readonly label: string;
  readonly part: number;
  readonly whole: number;
  readonly text: string;
  readonly tone: Tone | undefined;
}

export function ShareBar({ label, part, whole, text, tone }: ShareBarProps) {
  const share = whole > 0 ? Math.min(1, part / whole) : 0;
  return (
    <div class="sharebar">
      <span class="quiet">{label}</span>
      <div
        class={`meter ${tone ?? ''}`}
        role="meter"
        aria-valuemin={0}
        aria-valuemax={1}
        aria-valuenow={share}
        aria-label={`${label} ${text}`}
      >
        <span style={{ width: `${share * 100}%` }} />
      </div>
      <span class="numbers">{text}</span>
    </div>
  );
}
