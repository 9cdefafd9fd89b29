import type { Answer, Call, Core } from '../core.ts';
import { ROOT, type View } from './views.ts';

/** Schemas of what is served, with the versions of its types. */
const SCHEMAS = {
  ActionInfo: ['v1_1_2'],
  Chassis: ['v1_14_0'],
  ChassisCollection: [],
  ComputerSystem: ['v1_13_0'],
  ComputerSystemCollection: [],
  LogEntry: ['v1_6_0'],
  LogEntryCollection: [],
  LogService: ['v1_2_0'],
  LogServiceCollection: [],
  Manager: ['v1_11_0'],
  ManagerCollection: [],
  Message: ['v1_1_1'],
  ServiceRoot: ['v1_9_0'],
  Session: ['v1_3_0'],
  SessionCollection: [],
  SessionService: ['v1_1_8'],
  Settings: ['v1_3_0'],
  Task: ['v1_5_1'],
  TaskCollection: [],
  TaskService: ['v1_2_0'],
  VirtualMedia: ['v1_4_0'],
  VirtualMediaCollection: [],
} as const satisfies Record<string, readonly string[]>;

const SCHEMA_URL = 'http://redfish.dmtf.org/schemas/v1';

/** The OData metadata document: which schemas there are. */
export function metadata(): Answer {
  const references = Object.entries(SCHEMAS).flatMap(([name, versions]) => [
    `  <edmx:Reference Uri="${SCHEMA_URL}/${name}_v1.xml">`,
    ...[name, ...versions.map((version) => `${name}.${version}`)].map(
      (namespace) => `    <edmx:Include Namespace="${namespace}"/>`,
    ),
    '  </edmx:Reference>',
  ]);
  const body = [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<edmx:Edmx xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx" Version="4.0">',
    ...references,
    '  <edmx:DataServices>',
    '    <Schema xmlns="http://docs.oasis-open.org/odata/ns/edm" Namespace="Service">',
    '      <EntityContainer Name="Service" Extends="ServiceRoot.v1_9_0.ServiceContainer"/>',
    '    </Schema>',
    '  </edmx:DataServices>',
    '</edmx:Edmx>',
  ].join('\n');
  return { status: 200, headers: { 'content-type': 'application/xml; charset=utf-8' }, body };
}

/** The OData service document: where to begin. */
export const odataView = (_core: Core, call: Call): View => ({
  '@odata.context': `${ROOT}/$metadata`,
  value: ['Service', 'Systems', 'Managers', 'Chassis', 'SessionService', 'Tasks'].map((name) => ({
    name,
    kind: 'Singleton',
    url: call.link(PLACES[name] ?? `${ROOT}/${name}`),
  })),
});

const PLACES: Readonly<Record<string, string>> = { Service: ROOT, Tasks: `${ROOT}/TaskService` };
