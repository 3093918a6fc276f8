// What `helm test` runs in the product's image: one request to the gateway's Service. With a key of the chart's values it
// must be answered, without one refused as the gateway refuses, which shows as well that it is there and has its lists.
const { GATEWAY_URL: url = '', API_KEY: key } = process.env;
const wanted = key === undefined ? 401 : 200;
const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
for (let attempt = 1; ; attempt++) {
  let told;
  try {
    const answer = await fetch(`${url}/models`, { headers, signal: AbortSignal.timeout(10_000) });
    const requestId = answer.headers.get('x-request-id');
    told = `GET ${url}/models answered ${answer.status}, x-request-id ${requestId}`;
    await answer.body?.cancel();
    if (answer.status === wanted && requestId !== null) {
      process.stdout.write(`${told}\n`);
      break;
    }
  } catch (error) {
    told = `GET ${url}/models failed: ${error.cause?.message ?? error.message}`;
  }
  process.stderr.write(`${told}; wanted is ${wanted}\n`);
  if (attempt === 5) process.exit(1);
  await new Promise((resolve) => setTimeout(resolve, 3_000));
}
