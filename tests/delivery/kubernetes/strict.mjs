// Reads a JSON list of texts in YAML on stdin; prints a JSON list of {objects, mistakes}, one for
// each. With --types each object is held against the type tables of the Kubernetes client, as an
// API server would: a field that its type does not have and a value of another type are mistakes.
// What needs a cluster is not looked at.
import fs from 'node:fs';
import YAML from 'yaml';

const withTypes = process.argv.includes('--types');
const client = withTypes ? await import('@kubernetes/client-node') : {};

// Of monitoring.coreos.com/v1, which the client does not know; only what a manifest here may use.
const CUSTOM = {
  V1PodMonitor: {
    apiVersion: 'string', kind: 'string', metadata: 'V1ObjectMeta', spec: 'PodMonitorSpec',
  },
  PodMonitorSpec: {
    jobLabel: 'string', podTargetLabels: 'Array<string>', selector: 'V1LabelSelector',
    namespaceSelector: 'NamespaceSelector', podMetricsEndpoints: 'Array<PodMetricsEndpoint>',
    sampleLimit: 'number', targetLimit: 'number', labelLimit: 'number',
    labelNameLengthLimit: 'number', labelValueLengthLimit: 'number',
    attachMetadata: 'AttachMetadata',
  },
  AttachMetadata: { node: 'boolean' },
  NamespaceSelector: { any: 'boolean', matchNames: 'Array<string>' },
  PodMetricsEndpoint: {
    port: 'string', path: 'string', scheme: 'string', params: '{ [key: string]: Array<string>; }',
    interval: 'string', scrapeTimeout: 'string', honorLabels: 'boolean', honorTimestamps: 'boolean',
    relabelings: 'Array<RelabelConfig>', metricRelabelings: 'Array<RelabelConfig>',
    tlsConfig: 'SafeTLSConfig', basicAuth: 'BasicAuth',
  },
  SafeTLSConfig: {
    ca: 'SecretOrConfigMap', cert: 'SecretOrConfigMap', keySecret: 'V1SecretKeySelector',
    serverName: 'string', insecureSkipVerify: 'boolean',
  },
  SecretOrConfigMap: { secret: 'V1SecretKeySelector', configMap: 'V1ConfigMapKeySelector' },
  BasicAuth: { username: 'V1SecretKeySelector', password: 'V1SecretKeySelector' },
  RelabelConfig: {
    sourceLabels: 'Array<string>', separator: 'string', targetLabel: 'string', regex: 'string',
    modulus: 'number', replacement: 'string', action: 'string',
  },
  V1PrometheusRule: {
    apiVersion: 'string', kind: 'string', metadata: 'V1ObjectMeta', spec: 'PrometheusRuleSpec',
  },
  PrometheusRuleSpec: { groups: 'Array<RuleGroup>' },
  RuleGroup: { name: 'string', interval: 'string', limit: 'number', rules: 'Array<Rule>' },
  Rule: {
    record: 'string', alert: 'string', expr: 'IntOrString', for: 'string',
    keep_firing_for: 'string', labels: '{ [key: string]: string; }',
    annotations: '{ [key: string]: string; }',
  },
};

const LIST = /^Array<(.*)>$/;
const MAP = /^\{ \[key: string\]: (.*); \}$/;
let mistakes = [];
const isMap = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const tell = (path, what) => mistakes.push(`${path}: ${what}`);

// Field -> its type; undefined for what is no object.
function fieldsOf(type) {
  if (Object.hasOwn(CUSTOM, type)) return CUSTOM[type];
  const table = client[type]?.getAttributeTypeMap?.();
  return table && Object.fromEntries(table.map(({ baseName, type }) => [baseName, type]));
}

function check(value, type, path) {
  const [, item] = LIST.exec(type) ?? [];
  const [, entry] = MAP.exec(type) ?? [];
  const fields = fieldsOf(type);
  if (item) checkList(value, item, path);
  else if (entry) checkMap(value, entry, path, type);
  else if (fields) checkObject(value, fields, path, type);
  else checkScalar(value, type, path);
}

function checkList(value, item, path) {
  if (!Array.isArray(value)) tell(path, 'is no list');
  else value.forEach((each, i) => check(each, item, `${path}[${i}]`));
}

function checkMap(value, entry, path, type) {
  if (!isMap(value)) tell(path, `is no ${type}`);
  else for (const key in value) check(value[key], entry, `${path}.${key}`);
}

function checkObject(value, fields, path, type) {
  if (!isMap(value)) return tell(path, `is no ${type}`);
  for (const key in value) {
    if (Object.hasOwn(fields, key)) check(value[key], fields[key], `${path}.${key}`);
    else tell(`${path}.${key}`, `unknown field of ${type}`);
  }
}

const SCALARS = {
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  boolean: (value) => typeof value === 'boolean',
  IntOrString: (value) => typeof value === 'string' || Number.isInteger(value),
};

function checkScalar(value, type, path) {
  if (!Object.hasOwn(SCALARS, type)) tell(path, `the type ${type} is not known to this check`);
  else if (!SCALARS[type](value)) tell(path, `is ${JSON.stringify(value)}, wants ${type}`);
}

// apps/v1 DaemonSet -> V1DaemonSet
function typeOf({ apiVersion = '', kind = '' }) {
  const version = apiVersion.split('/').pop();
  return version.charAt(0).toUpperCase() + version.slice(1) + kind;
}

function checkTypes(object) {
  const name = `${object.kind} ${object.metadata?.name}`;
  if (!fieldsOf(typeOf(object))) tell(name, `no type is known for ${object.apiVersion} ${object.kind}`);
  else check(object, typeOf(object), name);
}

function read(text) {
  mistakes = [];
  const documents = YAML.parseAllDocuments(text);
  for (const document of documents) document.errors.forEach((error) => tell('YAML', error.message));
  const objects = documents.map((document) => document.toJS()).filter((object) => object !== null);
  if (withTypes) objects.forEach(checkTypes);
  return { objects, mistakes };
}

console.log(JSON.stringify(JSON.parse(fs.readFileSync(0, 'utf8')).map(read)));
