"""Asks a gateway by the official anthropic package and prints what its user sees: one JSON object, by scenario."""

import os

from anthropic import Anthropic, APIStatusError, beta_tool
from pydantic import BaseModel
from scenarios import pixel, run

client = Anthropic(base_url=os.environ["BASE_URL"], api_key=os.environ["API_KEY"], max_retries=0)
messages = [{"role": "user", "content": "Hi"}]
tools = [
    {"name": "weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}},
    {"name": "now", "input_schema": {"type": "object", "properties": {}}},
]


class Place(BaseModel):
    city: str
    days: list[int]


def plain(**body):
    return client.messages.create(max_tokens=2000, **{"messages": messages, **body})


def streamed(**body):
    with client.messages.stream(max_tokens=2000, **{"messages": messages, **body}) as stream:
        for _ in stream:
            pass
        return stream.get_final_message()


def text(ask):
    message = ask(model="talks")
    return [message.content[0].text, message.stop_reason, message.usage.input_tokens, message.usage.output_tokens]


def calls(ask):
    first = ask(model="calls", tools=tools)
    made = [block for block in first.content if block.type == "tool_use"]
    results = [{"type": "tool_result", "tool_use_id": call.id, "content": f"{call.name} ok"} for call in made]
    history = [*messages, {"role": "assistant", "content": first.content}, {"role": "user", "content": results}]
    second = ask(model="calls", tools=tools, messages=history)
    return [[[call.name, call.input] for call in made], second.content[0].text]


def thinking(ask):
    first, *_ = ask(model="thinks", thinking={"type": "enabled", "budget_tokens": 1024}).content
    return [first.type, first.thinking]


def image(ask):
    parts = [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": pixel}},
        {"type": "text", "text": "What?"},
    ]
    return ask(model="sees", messages=[{"role": "user", "content": parts}]).content[0].text


def refusal(ask):
    message = ask(model="refuses")
    return [message.stop_reason, message.content[0].text]


def cut(ask):
    return ask(model="stops").stop_reason


def errors(ask):
    seen = []
    for model in ("full", "fails", "rejects", "nobody"):
        try:
            ask(model=model)
        except APIStatusError as error:
            seen.append(f"{type(error).__name__} {error.status_code}")
    return seen


def broken():
    try:
        streamed(model="breaks")
    except Exception as error:
        return str(error)


def unauthorized():
    try:
        client.with_options(api_key="mgk_wrong").messages.create(model="talks", max_tokens=9, messages=messages)
    except APIStatusError as error:
        return type(error).__name__


def retries():
    patient = client.with_options(max_retries=2)
    ask = {"max_tokens": 9, "messages": messages}
    return [patient.messages.create(model=model, **ask).content[0].text for model in ("busy", "stumbles")]


def parsed():
    body = {"model": "obeys", "max_tokens": 99, "messages": messages, "output_format": Place}
    return client.messages.parse(**body).parsed_output.model_dump()


@beta_tool
def weather(city: str) -> str:
    """The weather of a city.

    Args:
        city: Its name
    """
    return f"{city} ok"


@beta_tool
def now() -> str:
    """The time."""
    return "noon"


def runner():
    texts = []
    for stream in (False, True):
        run = client.beta.messages.tool_runner(
            model="calls", max_tokens=99, messages=messages, tools=[weather, now], stream=stream
        )
        texts.append(run.until_done().content[0].text)
    return texts


def left():
    with client.messages.stream(model="lingers", max_tokens=99, messages=messages) as stream:
        for piece in stream.text_stream:
            return piece


def counted():
    return client.messages.count_tokens(model="talks", messages=messages).input_tokens > 0


def models():
    return "talks" in [model.id for model in client.models.list(limit=4)]


run(
    ways={"plain": plain, "streamed": streamed},
    both=[text, calls, thinking, image, refusal, cut, errors],
    once=[broken, unauthorized, retries, parsed, runner, left, counted, models],
)
