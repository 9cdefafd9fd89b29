import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { Taken } from './client.ts';

type Schema = z.core.JSONSchema.JSONSchema;
interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}
interface Operation {
  readonly responses: Readonly<Record<string, Response>>;
}
interface Response {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}

const FILE = join(dirname(findPackageJSON(import.meta.url)!), 'generated/openapi.json');

/** Whether an answer is as this version's description of the API has it. */
export function isAsDescribed({ method, path, status, answer }: Taken): boolean {
  const text = readFileSync(FILE, 'utf8').replaceAll('#/components/schemas/', '#/$defs/');
  const { paths, components } = JSON.parse(text) as Description;
  const isThis = (template: string) =>
    new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path);
  const template = Object.keys(paths).find(isThis);
  const response = paths[template ?? '']?.[method.toLowerCase()]?.responses[status];
  const schema = response?.content?.['application/json']?.schema;
  if (schema === undefined) return answer === null;
  return z.fromJSONSchema({ ...schema, $defs: components.schemas }).safeParse(answer).success;
}
