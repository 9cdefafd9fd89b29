/**
 * Generates files of `src/wire/` from `proto/`: the message types, and the descriptor from which
 * protobufjs builds readers and writers. With `--check` it changes nothing and exits 1 if a file is
 * outdated.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import protobuf from 'protobufjs';

const ROOT = join(import.meta.dirname, '..');
const SOURCES = ['cloud/agent/api/agent.proto', 'cloud/bmaas/server/api/callback.proto'];
const HEAD = '// Generated from `proto/` by `npm run proto`. Changes belong there.\n';

function load(): protobuf.Root {
  const root = new protobuf.Root();
  root.resolvePath = (_origin, target) => join(ROOT, 'proto', target);
  root.loadSync(SOURCES, { alternateCommentMode: true }).resolveAll();
  return root;
}

/** All messages and enums in schema order, each message before its nested types. */
function declared(scope: protobuf.NamespaceBase): (protobuf.Type | protobuf.Enum)[] {
  return scope.nestedArray.flatMap((each) => {
    if (each instanceof protobuf.Type) return [each, ...declared(each)];
    if (each instanceof protobuf.Enum) return [each];
    return each instanceof protobuf.Service ? [] : declared(each as protobuf.Namespace);
  });
}

/** The name in TypeScript, such as `CPU_ARM64` for the message `ARM64` inside `CPU`. */
const nameOf = (type: protobuf.ReflectionObject): string =>
  type.parent instanceof protobuf.Type ? `${nameOf(type.parent)}_${type.name}` : type.name;

const NUMBERS = /^(double|float|u?int32|sint32|s?fixed32)$/;
const BIG_NUMBERS = /^(u?int64|sint64|s?fixed64)$/;

function typeOf(field: protobuf.Field): string {
  if (field.map) throw new Error(`${field.fullName}: maps have no type here`);
  const { resolvedType, type } = field;
  if (resolvedType instanceof protobuf.Type) return nameOf(resolvedType);
  // Enums are open: a newer program may send a number without a name here.
  if (resolvedType || NUMBERS.test(type)) return 'number';
  if (BIG_NUMBERS.test(type)) return 'bigint';
  return { string: 'string', bool: 'boolean', bytes: 'Uint8Array' }[type] ?? 'never';
}

const comment = (text: string | null) => (text ? `/** ${text.replaceAll('\n', ' ')} */\n` : '');

function declare(type: protobuf.Type | protobuf.Enum): string {
  const declaration = type instanceof protobuf.Enum ? declareEnum(type) : declareMessage(type);
  return comment(type.comment) + declaration;
}

const declareEnum = (type: protobuf.Enum) =>
  `export const ${nameOf(type)} = ${JSON.stringify(type.values)} as const;`;

function declareMessage(type: protobuf.Type): string {
  const members = [...type.fieldsArray.map(declareField), ...type.oneofsArray.map(declareOneOf)];
  if (members.length === 0) return `export type ${nameOf(type)} = Readonly<Record<string, never>>;`;
  return `export interface ${nameOf(type)} {\n${members.join('\n')}\n}`;
}

const declareField = (field: protobuf.Field) =>
  `${comment(field.comment)}readonly ${field.name}?: ${field.repeated ? 'readonly ' : ''}` +
  `${typeOf(field)}${field.repeated ? '[]' : ''} | null;`;

/** The reader's discriminator; an `optional` field is a choice of one without discriminator. */
function declareOneOf({ name, oneof, fieldsArray }: protobuf.OneOf): string {
  if (fieldsArray[0]?.getOption('proto3_optional')) return '';
  return `readonly ${name}?: ${oneof.map((member) => `'${member}'`).join(' | ')};`;
}

/** The schemas without the original field names, which are not on the wire. */
const describe = (root: protobuf.Root): string =>
  JSON.stringify(root, (key, value: unknown) => (key === 'protoName' ? undefined : value));

function generate(root: protobuf.Root): Readonly<Record<string, string>> {
  const types = declared(root);
  const names = types.map(nameOf);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw new Error(`two messages are called ${twice}`);
  return {
    'messages.ts': `${HEAD}\n${types.map(declare).join('\n\n')}`,
    'descriptor.ts': `${HEAD}\nexport const descriptor = ${describe(root)};`,
  };
}

const isCheck = process.argv.includes('--check');
for (const [name, text] of Object.entries(generate(load()))) {
  const path = join(ROOT, 'src/wire', name);
  const fresh = await format(text, { ...(await resolveConfig(path)), filepath: path });
  if (existsSync(path) && readFileSync(path, 'utf8') === fresh) continue;
  if (!isCheck) writeFileSync(path, fresh);
  console.log(`src/wire/${name} ${isCheck ? 'is stale: run `npm run proto`' : 'written'}`);
  if (isCheck) process.exitCode = 1;
}
