import type { ChartArrow } from '../../src/console/api/about.ts';

type Point = readonly [x: number, y: number];

/** The maximum distance from the beginning, so that both are visible. */
const NEAR = 60;
const HEAD = { length: 8, width: 4 } as const;

/** Points of an SVG polyline or polygon. */
export const pointsOf = (points: readonly Point[]): string =>
  points.map(([x, y]) => `${x},${y}`).join(' ');

/** The triangle at the end of an arrow. */
export function headOf({ points }: Pick<ChartArrow, 'points'>): string {
  const [tip, before] = [points.at(-1)!, points.at(-2)!];
  const [dx, dy] = [tip[0] - before[0], tip[1] - before[1]];
  const length = Math.hypot(dx, dy) || 1;
  const [ux, uy] = [dx / length, dy / length];
  const [x, y] = [tip[0] - ux * HEAD.length, tip[1] - uy * HEAD.length];
  const side = (by: number): Point => [
    Math.round((x - uy * by) * 10) / 10,
    Math.round((y + ux * by) * 10) / 10,
  ];
  return pointsOf([tip, side(HEAD.width), side(-HEAD.width)]);
}

/** The position of a label on an arrow: half-way, or near the beginning of a long arrow. */
export function placeOn({ points }: Pick<ChartArrow, 'points'>): Point {
  const lengths = points.slice(1).map(([x, y], at) => {
    const [fromX, fromY] = points[at]!;
    return Math.hypot(x - fromX, y - fromY);
  });
  const whole = lengths.reduce((sum, length) => sum + length, 0);
  let left = Math.min(whole / 2, NEAR);
  for (const [at, length] of lengths.entries()) {
    if (left <= length) {
      const share = length === 0 ? 0 : left / length;
      const [from, to] = [points[at]!, points[at + 1]!];
      return [from[0] + (to[0] - from[0]) * share, from[1] + (to[1] - from[1]) * share];
    }
    left -= length;
  }
  return points[0]!;
}
