import type { ChartArrow } from '../../src/console/api/about.ts';

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}
type Way = ChartArrow['points'];
type Point = Way[number];

/** Minimum distance of a route from boxes. */
const CLEAR = 4;
/** Distance of a lane from its boxes. */
const LANE = 8;

/**
 * A route from one box to another, around all others: straight if possible, else along a lane above
 * or below some boxes. Takes the shortest; straight if there is none.
 */
export function wayBetween(from: Box, to: Box, all: readonly Box[]): Way {
  const others = all.filter((box) => box !== from && box !== to);
  const isFree = (way: Way) => !others.some((box) => runsThrough(way, box));
  const direct = straight(from, to);
  if (isFree(direct)) return direct;
  const lanes = all.flatMap(({ y, height }) => [y - LANE, y + height + LANE]);
  const shortest = (ways: readonly Way[]) =>
    ways.filter(isFree).toSorted((a, b) => lengthOf(a) - lengthOf(b))[0];
  return (
    shortest(lanes.flatMap((y) => upOrDown(y, from, to))) ??
    shortest(lanes.flatMap((y) => bySide(y, from, to))) ??
    direct
  );
}

/** None if the lane leaves no room to leave or enter a box. */
function upOrDown(y: number, from: Box, to: Box): Way[] {
  if (!isBeside(y, from) || !isBeside(y, to)) return [];
  return [[...door(from, y), ...door(to, y).toReversed()]];
}

/** The lower or upper wall of a box, and the point of the lane straight across from it. */
function door(box: Box, y: number): Way {
  const x = whole(box.x + box.width / 2);
  return [
    [x, y < box.y ? box.y : box.y + box.height],
    [x, y],
  ];
}

function bySide(y: number, from: Box, to: Box): Way[] {
  if (!isBeside(y, to)) return [];
  const height = whole(from.y + from.height / 2);
  const sides = [
    [from.x, from.x - LANE],
    [from.x + from.width, from.x + from.width + LANE],
  ] as const;
  return sides.map(([wall, at]) => [
    [wall, height],
    [at, height],
    [at, y],
    ...door(to, y).toReversed(),
  ]);
}

const isBeside = (at: number, { y, height }: Box) => at <= y - LANE || at >= y + height + LANE;

/** From the middle of one box to the middle of the other, as far as it is outside both. */
function straight(from: Box, to: Box): Way {
  const [begin, end] = [middleOf(from), middleOf(to)];
  return [edgeOf(from, begin, end), edgeOf(to, end, begin)];
}

const middleOf = ({ x, y, width, height }: Box): Point => [x + width / 2, y + height / 2];

/** Where a line from a box's middle to a point leaves the box. */
function edgeOf({ width, height }: Box, middle: Point, towards: Point): Point {
  const [dx, dy] = [towards[0] - middle[0], towards[1] - middle[1]];
  const share = Math.min(width / 2 / Math.abs(dx || 1e-9), height / 2 / Math.abs(dy || 1e-9));
  return [whole(middle[0] + dx * share), whole(middle[1] + dy * share)];
}

const partsOf = (way: Way) => way.slice(1).map((end, at) => [way[at]!, end] as const);

const lengthOf = (way: Way): number =>
  partsOf(way).reduce((sum, [a, b]) => sum + Math.hypot(b[0] - a[0], b[1] - a[1]), 0);

/** Clips each part of the route to the box and its surroundings (Liang and Barsky). */
function runsThrough(way: Way, { x, y, width, height }: Box): boolean {
  const ranges = [
    [x - CLEAR, x + width + CLEAR],
    [y - CLEAR, y + height + CLEAR],
  ] as const;
  return partsOf(way).some(([begin, end]) => {
    let [enters, leaves] = [0, 1];
    for (const axis of [0, 1] as const) {
      const length = end[axis] - begin[axis];
      const [low, high] = ranges[axis];
      if (length === 0 && (begin[axis] <= low || begin[axis] >= high)) return false;
      if (length === 0) continue;
      const [first, second] = [(low - begin[axis]) / length, (high - begin[axis]) / length];
      enters = Math.max(enters, Math.min(first, second));
      leaves = Math.min(leaves, Math.max(first, second));
    }
    return enters < leaves;
  });
}

const whole = (length: number): number => Math.round(length);
