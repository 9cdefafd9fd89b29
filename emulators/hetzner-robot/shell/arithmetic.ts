import { SyntaxProblem } from './syntax.ts';

/** Operators by how tightly they bind, loosest first. */
const LEVELS: readonly (readonly string[])[] = [
  ['||'],
  ['&&'],
  ['|'],
  ['^'],
  ['&'],
  ['==', '!='],
  ['<=', '>=', '<', '>'],
  ['<<', '>>'],
  ['+', '-'],
  ['*', '/', '%'],
];
const TOKEN = /\s*(\d+|[A-Za-z_]\w*|\|\||&&|==|!=|<=|>=|<<|>>|[-+*/%<>!~()?:&|^])/y;

const APPLY: Readonly<Record<string, (a: number, b: number) => number>> = {
  '||': (a, b) => Number(a !== 0 || b !== 0),
  '&&': (a, b) => Number(a !== 0 && b !== 0),
  '|': (a, b) => a | b,
  '^': (a, b) => a ^ b,
  '&': (a, b) => a & b,
  '==': (a, b) => Number(a === b),
  '!=': (a, b) => Number(a !== b),
  '<=': (a, b) => Number(a <= b),
  '>=': (a, b) => Number(a >= b),
  '<': (a, b) => Number(a < b),
  '>': (a, b) => Number(a > b),
  '<<': (a, b) => a * 2 ** b,
  '>>': (a, b) => Math.floor(a / 2 ** b),
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => Math.trunc(a / b),
  '%': (a, b) => a % b,
};

/** Whole numbers, without assignments. @throws {SyntaxProblem} */
export function evaluate(text: string, variable: (name: string) => string): number {
  const tokens: string[] = [];
  const trimmed = text.trim();
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < trimmed.length) {
    const found = TOKEN.exec(trimmed)?.[1];
    if (found === undefined) throw new SyntaxProblem(`arithmetic: ${text}`);
    tokens.push(found);
  }
  let at = 0;
  function conditional(): number {
    const test = binary(0);
    if (tokens[at] !== '?') return test;
    at++;
    const yes = conditional();
    if (tokens[at++] !== ':') throw new SyntaxProblem(`arithmetic: ${text}`);
    const no = conditional();
    return test === 0 ? no : yes;
  }
  function binary(level: number): number {
    if (level === LEVELS.length) return unary();
    let value = binary(level + 1);
    while (LEVELS[level]!.includes(tokens[at] ?? '')) {
      const operator = tokens[at++]!;
      const right = binary(level + 1);
      if ('/%'.includes(operator) && right === 0) throw new SyntaxProblem('division by zero');
      value = APPLY[operator]!(value, right);
    }
    return value;
  }
  function unary(): number {
    const token = tokens[at++];
    if (token === '-') return -unary();
    if (token === '+') return unary();
    if (token === '!') return Number(unary() === 0);
    if (token === '~') return ~unary();
    if (token === '(') {
      const inside = conditional();
      if (tokens[at++] !== ')') throw new SyntaxProblem(`arithmetic: ${text}`);
      return inside;
    }
    if (token === undefined) throw new SyntaxProblem(`arithmetic: ${text}`);
    return Number(/^\d/.test(token) ? token : variable(token) || 0);
  }
  if (tokens.length === 0) return 0;
  const value = conditional();
  if (at < tokens.length || Number.isNaN(value)) throw new SyntaxProblem(`arithmetic: ${text}`);
  return value;
}
