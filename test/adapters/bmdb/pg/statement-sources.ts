import { Visitor, parseSync } from 'oxc-parser';
import type { Expression } from 'oxc-parser';
import { lineOf } from '../../../repo/sources.ts';
import type { Source } from '../../../repo/sources.ts';

/** Text that is an SQL statement, or begins like one. */
const SQL =
  /^\s*(WITH|SELECT|INSERT|UPDATE|DELETE|MERGE|VALUES|CALL|TRUNCATE|CREATE|ALTER|DROP|LOCK)\b/;
const RUNNERS = new Set(['rows', 'run', 'query']);

/** Calls that run SQL other than a declared statement: `file:line runs …`. */
export function undeclaredSql({ path, text }: Source): string[] {
  const found: string[] = [];
  new Visitor({
    CallExpression: (call) => {
      const { callee } = call;
      if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return;
      if (!RUNNERS.has(callee.property.name)) return;
      for (const argument of call.arguments) {
        const sql = sqlOf(argument);
        if (sql !== null) found.push(`${path}:${lineOf(text, argument.start)} runs ${sql}`);
      }
    },
  }).visit(parse(path, text));
  return found;
}

/** Names given to `statement({ name, … })` or `named` in a file, exported or not. */
export function declaredNames({ path, text }: Source): string[] {
  const found: string[] = [];
  new Visitor({
    CallExpression: (call) => {
      if (call.callee.type !== 'Identifier') return;
      if (call.callee.name === 'statement') {
        const [name] = valuesIn(call.arguments[0], (key) => key === 'name');
        if (name) found.push(nameIn(name));
      } else if (call.callee.name === 'named') {
        const prefix = nameIn(call.arguments[0] as Expression);
        for (const _ of valuesIn(call.arguments[1], () => true)) found.push(`${prefix}-*`);
      }
    },
  }).visit(parse(path, text));
  return found;
}

function* valuesIn(node: { readonly type: string } | undefined, of: (key: string) => boolean) {
  const object = node as Expression | undefined;
  for (const each of object?.type === 'ObjectExpression' ? object.properties : []) {
    if (each.type !== 'Property' || each.key.type !== 'Identifier') continue;
    if (of(each.key.name)) yield each.value;
  }
}

/** The text of a name, with `*` for the parts that are known only at run time. */
function nameIn(value: Expression): string {
  if (value.type === 'Literal' && typeof value.value === 'string') return value.value;
  if (value.type !== 'TemplateLiteral') return '*';
  return value.quasis.map((part) => part.value.raw).join('*');
}

function sqlOf(argument: { readonly type: string }): string | null {
  const node = argument as Expression;
  const text =
    node.type === 'Literal' && typeof node.value === 'string'
      ? node.value
      : node.type === 'TemplateLiteral'
        ? node.quasis.map((part) => part.value.raw).join('…')
        : '';
  return SQL.test(text) ? text.trim().split('\n')[0]! : null;
}

function parse(path: string, text: string) {
  const { program, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message ?? 'does not parse'}`);
  return program;
}
