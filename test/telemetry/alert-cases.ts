/** When an alert fires: with `firing` it does at `atMinutes`, with `quiet` it does not. Series are promtool's notation. */
export interface AlertCase {
  readonly alert: string;
  readonly firing: Readonly<Record<string, string>>;
  readonly quiet: Readonly<Record<string, string>>;
  readonly atMinutes: number;
  /** Labels of the alert beside its severity. */
  readonly labels: Readonly<Record<string, string>>;
}

const always = (value: number): string => `${value}x60`;
/** Grows by so much each minute. */
const grows = (by: number): string => `0+${by}x60`;
const requests = (code: string): string =>
  `modelgateway_requests_total{route="/v1/messages",instance="g",code="${code}"}`;
const attempts = (outcome: string): string =>
  `modelgateway_upstream_attempts_total{node="ns/n",outcome="${outcome}"}`;
const phase = (phaseName: string, enabled = 'true'): string =>
  `modelgateway_node_phase{node="ns/n",phase="${phaseName}",enabled="${enabled}"}`;
const bucket = (le: string): string =>
  `modelgateway_time_to_first_content_seconds_bucket{route="/v1/messages",le="${le}"}`;

export const alertCases: readonly AlertCase[] = [
  {
    alert: 'ModelGatewayDown',
    firing: { 'modelgateway_build_info{role="controller"}': always(1) },
    quiet: { 'modelgateway_build_info{role="gateway"}': always(1) },
    atMinutes: 10,
    labels: {},
  },
  {
    alert: 'ModelGatewayErrors',
    firing: { [requests('200')]: grows(90), [requests('529')]: grows(10) },
    quiet: { [requests('200')]: grows(99), [requests('499')]: grows(50), [requests('502')]: grows(1) },
    atMinutes: 30,
    labels: { route: '/v1/messages' },
  },
  {
    alert: 'ModelGatewayBusy',
    firing: { 'modelgateway_errors_total{error="gateway_busy",instance="g"}': grows(1) },
    quiet: { 'modelgateway_errors_total{error="gateway_busy",instance="g"}': always(3) },
    atMinutes: 20,
    labels: { instance: 'g' },
  },
  {
    alert: 'ModelGatewayInternalErrors',
    firing: { 'modelgateway_internal_errors_total{place="answer",instance="g"}': '0x10 1x50' },
    quiet: { 'modelgateway_internal_errors_total{place="answer",instance="g"}': always(1) },
    atMinutes: 18,
    labels: { instance: 'g', place: 'answer' },
  },
  {
    alert: 'ModelGatewayLargeWorkLost',
    firing: { 'modelgateway_thread_losses_total{instance="g"}': '0x10 1x50' },
    quiet: { 'modelgateway_thread_losses_total{instance="g"}': always(1) },
    atMinutes: 18,
    labels: { instance: 'g' },
  },
  {
    alert: 'ModelGatewaySlow',
    firing: { [bucket('30')]: grows(80), [bucket('60')]: grows(100), [bucket('+Inf')]: grows(100) },
    quiet: { [bucket('30')]: grows(99), [bucket('60')]: grows(100), [bucket('+Inf')]: grows(100) },
    atMinutes: 40,
    labels: { route: '/v1/messages' },
  },
  {
    alert: 'ModelGatewayEventLoopBusy',
    firing: { 'nodejs_eventloop_lag_p99_seconds{instance="g"}': always(0.8) },
    quiet: { 'nodejs_eventloop_lag_p99_seconds{instance="g"}': always(0.02) },
    atMinutes: 20,
    labels: { instance: 'g' },
  },
  {
    alert: 'ModelGatewayKeyRefusals',
    firing: { 'modelgateway_key_refusals_total{reason="key_unknown"}': grows(120) },
    quiet: {
      'modelgateway_key_refusals_total{reason="key_unknown"}': grows(6),
      'modelgateway_key_refusals_total{reason="key_missing"}': grows(600),
    },
    atMinutes: 40,
    labels: { reason: 'key_unknown' },
  },
  {
    alert: 'ModelGatewayCertificateExpires',
    firing: { 'modelgateway_tls_certificate_expiration_timestamp_seconds{instance="g"}': '500000x120' },
    quiet: { 'modelgateway_tls_certificate_expiration_timestamp_seconds{instance="g"}': '5000000x120' },
    atMinutes: 90,
    labels: { instance: 'g' },
  },
  {
    alert: 'ModelGatewayCertificateRefused',
    firing: { 'modelgateway_tls_certificate_reloads_total{result="error",instance="g"}': '0x10 1x50' },
    quiet: { 'modelgateway_tls_certificate_reloads_total{result="success",instance="g"}': grows(1) },
    atMinutes: 18,
    labels: { instance: 'g' },
  },
  {
    alert: 'ModelGatewayNoHealthyNode',
    firing: { [phase('offline')]: always(1) },
    quiet: {
      [phase('offline')]: always(1),
      'modelgateway_node_phase{node="ns/other",phase="idle",enabled="true"}': always(1),
    },
    atMinutes: 10,
    labels: {},
  },
  {
    alert: 'ModelGatewayNodeUnhealthy',
    firing: { [phase('error')]: always(1) },
    quiet: { [phase('error', 'false')]: always(1) },
    atMinutes: 20,
    labels: { node: 'ns/n', phase: 'error' },
  },
  {
    alert: 'ModelGatewayNodeFailing',
    firing: { [attempts('ok')]: grows(50), [attempts('timeout')]: grows(50) },
    quiet: {
      [attempts('ok')]: grows(50),
      [attempts('client_error')]: grows(50),
      [attempts('cancelled')]: grows(50),
    },
    atMinutes: 40,
    labels: { node: 'ns/n' },
  },
  {
    alert: 'ModelGatewayNodeRefusesCredential',
    firing: { [attempts('credential_refused')]: grows(1) },
    quiet: { [attempts('ok')]: grows(50) },
    atMinutes: 20,
    labels: { node: 'ns/n' },
  },
  {
    alert: 'ModelGatewayNodeRateLimits',
    firing: { [attempts('ok')]: grows(80), [attempts('rate_limited')]: grows(20) },
    quiet: { [attempts('ok')]: grows(99), [attempts('rate_limited')]: grows(1) },
    atMinutes: 40,
    labels: { node: 'ns/n' },
  },
  {
    alert: 'ModelGatewayCircuitOpen',
    firing: { 'modelgateway_circuit_state{node="ns/n",model="m",state="open"}': always(1) },
    quiet: { 'modelgateway_circuit_state{node="ns/n",model="m",state="open"}': '1x10 stale _x40' },
    atMinutes: 20,
    labels: { node: 'ns/n', model: 'm' },
  },
  {
    alert: 'ModelGatewayControllerDown',
    firing: { 'modelgateway_build_info{role="gateway"}': always(1) },
    quiet: { 'modelgateway_build_info{role="standalone"}': always(1) },
    atMinutes: 20,
    labels: {},
  },
  {
    alert: 'ModelGatewayNoLeader',
    firing: {
      'leader_election_master_status{name="model-gateway-controller",namespace="ns",pod="a"}': always(0),
      'leader_election_master_status{name="model-gateway-controller",namespace="ns",pod="b"}': always(0),
    },
    quiet: {
      'leader_election_master_status{name="model-gateway-controller",namespace="ns",pod="a"}': always(0),
      'leader_election_master_status{name="model-gateway-controller",namespace="ns",pod="b"}': always(1),
    },
    atMinutes: 10,
    labels: { namespace: 'ns' },
  },
  {
    alert: 'ModelGatewayReconcileErrors',
    firing: { 'controller_runtime_reconcile_errors_total{controller="apikey"}': grows(12) },
    quiet: { 'controller_runtime_reconcile_errors_total{controller="apikey"}': grows(1) },
    atMinutes: 40,
    labels: { controller: 'apikey' },
  },
  {
    alert: 'ModelGatewayReconcileStuck',
    firing: { 'workqueue_longest_running_processor_seconds{name="apikey"}': grows(60) },
    quiet: { 'workqueue_longest_running_processor_seconds{name="apikey"}': always(3) },
    atMinutes: 20,
    labels: { name: 'apikey' },
  },
  {
    alert: 'ModelGatewayResourcesNotReady',
    firing: {
      'modelgateway_resources{kind="UpstreamNode",ready="False",reason="SecretNotFound"}': always(2),
    },
    quiet: {
      'modelgateway_resources{kind="APIKey",ready="False",reason="Expired"}': always(2),
      'modelgateway_resources{kind="APIKey",ready="True",reason="KeyIssued"}': always(2),
      'modelgateway_resources{kind="APIKey",ready="False",reason="HashConflict"}': always(0),
    },
    atMinutes: 45,
    labels: { kind: 'UpstreamNode', reason: 'SecretNotFound' },
  },
  {
    alert: 'ModelGatewayKeyExpiresSoon',
    firing: {
      'modelgateway_key_expiration_timestamp_seconds{kind="APIKey",key="ns/k",instance="a"}': always(604_000),
    },
    quiet: {
      'modelgateway_key_expiration_timestamp_seconds{kind="APIKey",key="ns/k",instance="a"}': always(800_000),
      'modelgateway_key_expiration_timestamp_seconds{kind="APIKey",key="ns/over",instance="a"}': always(1),
    },
    atMinutes: 10,
    labels: { kind: 'APIKey', key: 'ns/k' },
  },
  {
    alert: 'ModelGatewayStale',
    firing: { 'modelgateway_store_last_event_timestamp_seconds{instance="g",kind="APIKey"}': always(60) },
    quiet: { 'modelgateway_store_last_event_timestamp_seconds{instance="g",kind="APIKey"}': grows(60) },
    atMinutes: 30,
    labels: { instance: 'g', kind: 'APIKey' },
  },
  {
    alert: 'ModelGatewayNotSynced',
    firing: { 'modelgateway_store_synced{instance="g",kind="APIKey"}': always(0) },
    quiet: { 'modelgateway_store_synced{instance="g",kind="APIKey"}': always(1) },
    atMinutes: 20,
    labels: { instance: 'g', kind: 'APIKey' },
  },
  {
    alert: 'ModelGatewayNamespaceLost',
    firing: { 'modelgateway_store_namespace_followed{instance="g",resource_namespace="team"}': always(0) },
    quiet: { 'modelgateway_store_namespace_followed{instance="g",resource_namespace="team"}': always(1) },
    atMinutes: 10,
    labels: { instance: 'g', resource_namespace: 'team' },
  },
  {
    alert: 'ModelGatewayServedElsewhere',
    firing: { 'modelgateway_controller_namespaces{namespace="ns",pod="a",claim="Other"}': always(2) },
    quiet: { 'modelgateway_controller_namespaces{namespace="ns",pod="a",claim="Other"}': always(0) },
    atMinutes: 40,
    labels: { namespace: 'ns' },
  },
  {
    alert: 'ModelGatewayUnguarded',
    firing: { 'modelgateway_controller_namespaces{namespace="ns",pod="a",claim="Unguarded"}': always(1) },
    quiet: { 'modelgateway_controller_namespaces{namespace="ns",pod="a",claim="Unguarded"}': always(0) },
    atMinutes: 20,
    labels: { namespace: 'ns' },
  },
  {
    alert: 'ModelGatewaySecretUnreadable',
    firing: { 'modelgateway_store_unreadable_secrets{instance="g",resource_namespace="team"}': always(1) },
    quiet: { 'modelgateway_store_unreadable_secrets{instance="g",resource_namespace="team"}': always(0) },
    atMinutes: 10,
    labels: { instance: 'g', resource_namespace: 'team' },
  },
  {
    alert: 'ModelGatewayObjectsRejected',
    firing: { 'modelgateway_store_rejected_objects_total{instance="g",kind="APIKey"}': '0x10 1x50' },
    quiet: { 'modelgateway_store_rejected_objects_total{instance="g",kind="APIKey"}': always(1) },
    atMinutes: 15,
    labels: { instance: 'g', kind: 'APIKey' },
  },
  {
    alert: 'ModelGatewayApiServerErrors',
    firing: {
      'rest_client_requests_total{instance="g",code="200"}': grows(10),
      'rest_client_requests_total{instance="g",code="<error>"}': grows(10),
    },
    quiet: {
      'rest_client_requests_total{instance="g",code="200"}': grows(10),
      'rest_client_requests_total{instance="g",code="404"}': grows(10),
    },
    atMinutes: 30,
    labels: { instance: 'g' },
  },
  {
    alert: 'ModelGatewayNotReporting',
    firing: { 'modelgateway_report_written_timestamp_seconds{instance="g"}': always(0) },
    quiet: { 'modelgateway_report_written_timestamp_seconds{instance="g"}': '0+60x60' },
    atMinutes: 10,
    labels: { instance: 'g' },
  },
  {
    alert: 'ModelGatewayTelemetryLost',
    firing: { 'modelgateway_otlp_exports_total{instance="g",signal="traces",result="error"}': grows(1) },
    quiet: { 'modelgateway_otlp_exports_total{instance="g",signal="traces",result="success"}': grows(1) },
    atMinutes: 40,
    labels: { instance: 'g', signal: 'traces' },
  },
];
