/** A small live plot. The library is loaded with the first one. */
import { useEffect, useRef } from 'preact/hooks';
import type uPlot from 'uplot';
import { theme } from '../core/theme.ts';

interface Series {
  readonly label: string;
  /** A colour variable of the dashboard. */
  readonly colour: string;
}

interface PlotProps {
  readonly title: string;
  /** The newest value, as text. */
  readonly now: string;
  readonly series: readonly Series[];
  /** Times in seconds, then the values of each series. */
  readonly data: readonly (readonly (number | null)[])[];
  readonly format: (value: number) => string;
  /** Whether the axis uses powers of two, for bytes. */
  readonly binary?: boolean;
}

/** Time range shown for a plot with a single value. */
const firstSeconds = 60;
const height = 96;

export function Plot({ title, now, series, data, format, binary }: PlotProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const dark = theme.value;
  useEffect(() => {
    let closed = false;
    const observer = new ResizeObserver(([entry]) => {
      const width = Math.floor(entry!.contentRect.width);
      if (width > 0) plot.current?.setSize({ width, height });
    });
    void import('uplot').then(({ default: Library }) => {
      if (closed || !box.current) return;
      plot.current = new Library(
        optionsOf(series, format, box.current, binary),
        data as uPlot.AlignedData,
        box.current,
      );
      observer.observe(box.current);
    });
    return () => {
      closed = true;
      observer.disconnect();
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [dark]);
  useEffect(() => plot.current?.setData(data as uPlot.AlignedData), [data]);
  return (
    <figure class="plot">
      <figcaption>
        <span class="quiet">{title}</span> <strong>{now}</strong>
      </figcaption>
      <div ref={box} aria-hidden="true" class="plotbox" />
    </figure>
  );
}

/** Steps of the time axis in seconds; samples are never closer. */
const timeSteps = [1, 5, 10, 15, 30, 60, 300, 600, 1_800, 3_600];
const powersOfTwo = Array.from({ length: 50 }, (_, i) => 2 ** i);

function optionsOf(
  series: readonly Series[],
  format: (value: number) => string,
  box: HTMLElement,
  binary = false,
): uPlot.Options {
  const style = getComputedStyle(box);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const axis = {
    stroke: colour('--quiet'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
  };
  return {
    width: Math.max(100, box.clientWidth),
    height,
    legend: { show: false },
    cursor: { show: false },
    padding: [6, 4, 0, 0],
    scales: {
      x: { range: ({ data }, min, max) => (data[0]!.length === 1 ? [min - firstSeconds, min] : [min, max]) },
      y: { range: (_, __, max) => [0, max > 0 ? max * 1.15 : 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 20,
        space: 70,
        font: `10px ${style.fontFamily}`,
        incrs: timeSteps,
      },
      {
        ...axis,
        size: 52,
        space: 28,
        font: `10px ${style.fontFamily}`,
        values: (_, ticks) => ticks.map(format),
        ...(binary ? { incrs: powersOfTwo } : {}),
      },
    ],
    series: [
      {},
      ...series.map(({ label, colour: name }) => ({
        label,
        stroke: colour(name),
        fill: `color-mix(in srgb, ${colour(name)} 14%, transparent)`,
        width: 1.5,
        points: { show: ({ data }: uPlot) => data[0]!.length === 1, size: 5 },
      })),
    ],
  };
}
